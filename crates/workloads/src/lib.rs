//! Benchmark workloads, written once over an abstract transaction: they name no scheme, no record, no
//! index, no thread.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod erased;
pub mod micro;
pub mod mix;
#[cfg(test)]
mod mock;
pub mod smallbank;
pub mod stock;
mod text;
pub mod tpcc;
pub mod tpce;
pub mod ycsb;

#[cfg(test)]
mod tests {
    use engine::setting::Values;
    use engine::{ClientId, Drive, Schema, Workload};
    use stdx::Rng;

    /// Returns the number of homes that the workload states, and of those that its inputs name, with the first one
    /// beyond the stated ones.
    fn homes<W: Workload>(given: &[(&str, &str)]) -> (usize, usize, Option<u64>) {
        let given: Vec<_> = given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let values = Values::new(W::SETTINGS, &given).expect("legal");
        let (mut schema, drive) = (Schema::new(), Drive { workers: 1, clients: 8, seed: 1 });
        let workload = W::declare(&values, drive, &mut schema).expect("not contradictory");
        let stated = schema.homes().expect("they are stated");
        let mut named = std::collections::BTreeSet::new();
        for sequence in 0..2_000 {
            let client = (sequence % 8) as u32;
            let mut rng = Rng::from_path(&[1, u64::from(client), sequence]);
            let input = workload.generate(ClientId(client), sequence / 8, &mut rng);
            named.extend(workload.homes(&input).listed().unwrap_or_default());
        }
        (stated, named.len(), named.into_iter().find(|home| *home >= stated as u64))
    }

    #[test]
    fn all_homes_that_are_named_are_among_those_that_are_stated() {
        let tpcc = [("tpcc.warehouses", "100"), ("tpcc.customers_per_district", "30"), ("tpcc.items", "100")];
        assert_eq!(homes::<crate::tpcc::Tpcc>(&tpcc), (100, 100, None));
        let tpce = [("tpce.customers", "600"), ("tpce.scale_factor", "20000")];
        assert_eq!(homes::<crate::tpce::Tpce>(&tpce), (3, 3, None));
        assert_eq!(homes::<crate::ycsb::Ycsb<crate::ycsb::ShortKey>>(&[]), (16, 16, None));
        assert_eq!(homes::<crate::stock::StockTable>(&[("stock.warehouses", "3")]), (3, 3, None));
        assert_eq!(homes::<crate::micro::Micro>(&[]), (16, 16, None));
    }
}
