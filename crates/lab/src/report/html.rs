//! Reports as one page. The page opens from a file, and asks no network for anything. It says all that matters without
//! its script, which only hides what the reader does not want to see.

use plot::{Element, Theme, escape, style, swatch};
use serde_json::{Value, json};

use super::figures::{Drawn, Figure, of_study};
use super::study::Study;
use super::{Claim, Report, claims, conditions, evidence, region, words};
use crate::sweep::point_of;
use crate::text::plural;

/// The beginning of every page, by which a file is recognised as a report.
pub const MARK: &str = "<!doctype html>\n<!-- contend report -->\n";

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The content security policy: the page may load nothing from anywhere, whatever text gets into it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'";

/// Returns the page of a report.
pub fn page(report: &Report) -> String {
    let (light, dark) = (style(Theme::Light), style(Theme::Dark));
    let sections =
        [conditions_section(report), claims_section(&report.claims), studies(report), machines(report)];
    let sections: String = sections.concat();
    format!(
        "{MARK}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<meta name=\"color-scheme\" \
         content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{light}\n@media screen and (prefers-color-scheme: dark) \
         {{{dark}}}\n{CSS}</style>\n\
         </head>\n<body>\n<a class=\"skip\" href=\"#findings\">To the \
         findings</a>\n{head}\n<main>\n{findings}{sections}{reading}\
         </main>\n<script type=\"application/json\" \
         id=\"data\">{data}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        title = escape(&report.title),
        head = head(report),
        findings = findings(report),
        reading = reading(),
        data = data(report),
    )
}

/// Returns the data of the page as JSON, for its script and for programs that read the numbers. `<` is escaped, so that
/// no text can end the script element.
fn data(report: &Report) -> String {
    let study = |(number, study): (usize, &Study)| {
        let drawn = Drawn { number, study };
        let names = drawn.names();
        let line =
            |line: &super::PointMeasurements| point_of(&study.workload, &names, &study.first, &line.line);
        let scheme = |name: &String| json!({ "key": drawn.scheme_key(name), "text": name });
        let value = |axis, value: &String| json!({ "key": drawn.value_key(axis, value), "text": value });
        let axes = study.axes.iter().enumerate();
        let axes = axes.map(|(at, axis)| {
            let values: Vec<Value> = axis.values.iter().map(|text| value(at, text)).collect();
            json!({ "name": axis.name, "values": values })
        });
        json!({
            "title": study.title,
            "schemes": study.schemes.iter().map(scheme).collect::<Vec<Value>>(),
            "axes": axes.collect::<Vec<Value>>(),
            "lines": study.lines.iter().map(line).collect::<Vec<_>>(),
        })
    };
    let studies: Vec<Value> = report.studies.iter().enumerate().map(study).collect();
    json!({ "studies": studies }).to_string().replace('<', "\\u003c")
}

fn head(report: &Report) -> String {
    let runs: usize = report.studies.iter().map(|study| study.runs.len()).sum();
    let mut schemes: Vec<&str> =
        report.studies.iter().flat_map(|study| &study.schemes).map(String::as_str).collect();
    schemes.sort_unstable();
    schemes.dedup();
    let counts = [(runs, "run"), (schemes.len(), "scheme"), (report.machines.len(), "machine")];
    let facts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural(count, noun));
    let facts: Vec<String> = facts.chain([report.folder.clone()]).map(|fact| escape(&fact)).collect();
    let links: String = links(report).iter().map(|(id, text)| link(id, text)).collect();
    format!(
        "<header>\n<p class=\"kicker\">Contend report</p>\n<h1>{}</h1>\n<p class=\"meta\">{}</p>\n\
         <nav aria-label=\"Contents\">{links}</nav>\n</header>",
        escape(&report.title),
        facts.join(" &middot; "),
    )
}

fn link(id: &str, text: &str) -> String {
    Element::new("a").set("href", format!("#{id}")).saying(text)
}

fn links(report: &Report) -> Vec<(String, String)> {
    let mut links = vec![("findings".to_owned(), "Findings".to_owned())];
    if report.conditions.is_some() {
        links.push(("conditions-section".to_owned(), "Conditions".to_owned()));
    }
    if !report.claims.is_empty() {
        links.push(("claims".to_owned(), "Claims".to_owned()));
    }
    let is_one = report.studies.len() == 1;
    for (number, study) in report.studies.iter().enumerate() {
        let nth = number + 1;
        if is_one {
            let names = [
                ("figures", "Figures"),
                ("settings", "Settings"),
                ("region", "Tested region"),
                ("runs", "Runs"),
            ];
            links.extend(names.map(|(id, text)| (format!("{id}-{nth}"), text.to_owned())));
        } else {
            links.push((format!("study-{nth}"), study.title.clone()));
        }
    }
    if !report.machines.is_empty() {
        links.push(("machines".to_owned(), "Machines".to_owned()));
    }
    links.push(("reading".to_owned(), "How to read this".to_owned()));
    links
}

fn list(class: &str, sentences: &[String]) -> String {
    let item = |sentence: &String| Element::new("li").holding(&coded(sentence));
    let items: String = sentences.iter().map(item).collect();
    if items.is_empty() { items } else { format!("<ul class=\"{class}\">{items}</ul>\n") }
}

/// Returns the first section of a page: the findings and cautions of the whole report.
fn findings(report: &Report) -> String {
    let mut inner = String::new();
    if let Some(conditions) = &report.conditions {
        inner += &list("says", &[conditions::findings(conditions)]);
    }
    for study in &report.studies {
        if report.studies.len() > 1 {
            inner += &Element::new("h3").saying(&study.title);
        }
        inner += &list("says", &words::findings(study));
        inner += &list("cautions", &words::cautions(study));
        inner += &Element::new("p").set("class", "region-line").saying(&region::sentence(study));
    }
    if report.machines.len() > 1 {
        let says = format!(
            "{} MACHINES: figures of different machines stand side by side; they do not compare schemes.",
            report.machines.len()
        );
        inner += &list("cautions", &[says]);
    }
    inner += &list("cautions", &report.remarks);
    section("findings", "Findings", &inner)
}

fn section(id: &str, title: &str, inner: &str) -> String {
    let title = Element::new("h2").saying(title);
    format!("<section id=\"{}\">\n{title}\n{inner}</section>\n", escape(id))
}

fn conditions_section(report: &Report) -> String {
    let Some(conditions) = &report.conditions else { return String::new() };
    let figures: String = conditions::figures(conditions, &report.claims).iter().map(figure).collect();
    section("conditions-section", "Conditions", &figures)
}

fn claims_section(claims: &[Claim]) -> String {
    let claim = |claim: &Claim| {
        let mechanisms = claims::mechanisms(claim);
        let table = if mechanisms.rows.is_empty() { String::new() } else { mechanisms.html() };
        format!(
            "<article class=\"claim\"><h3>{}</h3>\n<blockquote>{}</blockquote>\n{}{table}<p>Check it again, on fresh \
             points: \
             <code>{}</code></p></article>\n",
            escape(&claim.name),
            escape(&claim.statement),
            facts(&claims::facts(claim)),
            escape(&claim.recheck),
        )
    };
    let inner: String = claims.iter().map(claim).collect();
    if inner.is_empty() { inner } else { section("claims", "Claims", &inner) }
}

fn facts(facts: &[(String, String)]) -> String {
    let fact = |(name, fact): &(String, String)| {
        format!("<div>{}{}</div>", Element::new("dt").saying(name), Element::new("dd").saying(fact))
    };
    format!("<dl>{}</dl>\n", facts.iter().map(fact).collect::<String>())
}

fn studies(report: &Report) -> String {
    let is_one = report.studies.len() == 1;
    report.studies.iter().enumerate().map(|(number, study)| one_study(number, study, is_one)).collect()
}

fn one_study(number: usize, study: &Study, is_alone: bool) -> String {
    let (drawn, nth) = (Drawn { number, study }, number + 1);
    let figures: String = of_study(number, study).iter().map(figure).collect();
    let scattered = "<p>Its points were drawn rather than combined, so that there are no lines between them; the \
                     table of \
                     runs has them all.</p>\n";
    let figures = if figures.is_empty() { scattered } else { &figures };
    let filters = format!(
        "<div class=\"filters\" data-study=\"{number}\" hidden></div><p class=\"shown\" data-shown=\"{number}\" \
         role=\"status\"></p>\n"
    );
    let settings = region::off_standard(study).html()
        + "<p class=\"note\">* off its standard value. All others are as the workload's specification or the scheme's \
           paper \
           has them; the tested region lists every one.</p>\n";
    let tested = Element::new("p").saying(&region::sentence(study))
        + &folded("Every setting", &region::tested(study).html());
    let load = evidence::load(&study.runs);
    let load = load.map_or_else(String::new, |load| {
        Element::new("p").saying(&format!("Before the runs the machine had {load}."))
    });
    let build = study
        .build
        .as_ref()
        .map_or_else(String::new, |build| Element::new("p").saying(&format!("Made by build {build}.")));
    let runs = load + &build + &folded("Every run, and how to make it again", &evidence::runs(drawn).html());
    let parts = [
        ("figures", "Figures", filters + figures),
        ("settings", "Settings and what they stress", settings),
        ("region", "Tested region", tested),
        ("runs", "Runs", runs),
    ];
    let part = |(id, title, inner): (&str, &str, String)| section(&format!("{id}-{nth}"), title, &inner);
    let inner: String = parts.into_iter().map(part).collect();
    let title =
        if is_alone { String::new() } else { Element::new("h2").set("class", "study").saying(&study.title) };
    format!("<div class=\"study\" id=\"study-{nth}\">\n{title}{inner}</div>\n")
}

/// Returns a text as HTML. Parts between backticks are names of commands and settings, and become `code` elements.
fn coded(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(at, part): (usize, &str)| {
        if at % 2 == 1 { Element::new("code").saying(part) } else { escape(part) }
    };
    parts.map(part).collect()
}

fn folded(title: &str, inner: &str) -> String {
    format!("<details><summary>{}</summary>\n{inner}</details>\n", escape(title))
}

/// Returns a figure as HTML: title, legend, panels, caption, and the table of its numbers.
fn figure(figure: &Figure) -> String {
    let keys = figure.legend_keys.iter().map(String::as_str).chain(core::iter::repeat(""));
    let entry = |((name, look), key): (&(String, plot::Look), &str)| {
        Element::new("span").key(key).holding(&(swatch(*look) + &escape(name)))
    };
    let legend: String = figure.legend.iter().zip(keys).map(entry).collect();
    let legend = if legend.is_empty() { legend } else { format!("<p class=\"legend\">{legend}</p>\n") };
    let panel = |panel: &plot::Panel| {
        let style = format!("max-width:{:.0}px", panel.width * 1.5);
        Element::new("div").set("class", "panel").set("style", style).key(&panel.key).holding(&panel.inline())
            + "\n"
    };
    let panels: String = figure.panels.iter().map(panel).collect();
    let wide = figure.panels.iter().map(|panel| panel.width).fold(0.0, f64::max);
    let class = if wide > 400.0 { "panels wide" } else { "panels" };
    format!(
        "<figure id=\"{}\">\n<h3>{}</h3>\n{legend}<div \
         class=\"{class}\">\n{panels}</div>\n<figcaption>{}</figcaption>\n{}</figure>\n",
        escape(&figure.id),
        escape(&figure.title),
        coded(&figure.caption),
        folded("Numbers", &figure.grid.html()),
    )
}

fn machines(report: &Report) -> String {
    let inner: String = report.machines.iter().map(|machine| facts(&evidence::machine(machine))).collect();
    if inner.is_empty() { inner } else { section("machines", "Machines", &inner) }
}

/// Returns the section that explains how to read the figures.
fn reading() -> String {
    let says = [
        "A throughput is the median of its repetitions. Its interval is made of order statistics, assumes nothing \
         about how \
         measurements are spread, and has a stated confidence: three runs 75%, five 93.75%, six 96.9%.",
        "A ratio is computed from pairs: the runs of one repetition answered the same requests, one soon after the \
         other. Its \
         interval is that of the signed ranks of the pairs' logarithms.",
        "A verdict needs 90% of confidence and more than 5% of difference: `faster` and `slower` lie beyond the \
         margin as a \
         whole, `same` within it, `unclear` decides nothing.",
        "Throughput counts commits, and neither rollbacks nor aborts. The abort rate is aborts by the scheme as a \
         share of \
         all attempts except user aborts.",
        "A run that failed its check is no result: it is counted, and its figures are left out.",
        "The results are not valid for points that were not measured, for other machines, or for more cores.",
    ];
    section("reading", "How to read this", &list("plain", &says.map(str::to_owned)))
}
