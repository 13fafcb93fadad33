//! Reports as one page. The page opens from a file, and asks no network for anything. It says all that matters without
//! its script, which only hides what the reader does not want to see.

use maud::{Markup, PreEscaped, html};
use plot::{Theme, style, swatch};
use serde_json::{Value, json};

use super::figures::{Drawn, Figure, of_study};
use super::study::Study;
use super::{Claim, Report, claims, conditions, evidence, knees, region, words};
use crate::knees::Knee;
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
    let css = format!("\n{light}\n@media screen and (prefers-color-scheme: dark) {{{dark}}}\n{CSS}");
    let page = html! {
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { (report.title) }
                style { (PreEscaped(css)) }
            }
            "\n"
            body {
                a.skip href="#findings" { "To the findings" }
                (head(report))
                main {
                    (findings(report))
                    (conditions_section(report))
                    (claims_section(&report.claims))
                    @for (number, one) in report.studies.iter().enumerate() {
                        (study(number, one, report.studies.len() == 1))
                    }
                    (machines(report))
                    (reading())
                }
                script type="application/json" id="data" { (PreEscaped(data(report))) }
                "\n"
                script { "\n" (PreEscaped(SCRIPT)) }
            }
        }
        "\n"
    };
    MARK.to_owned() + &page.0
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

fn head(report: &Report) -> Markup {
    let runs: usize = report.studies.iter().map(|study| study.runs.len()).sum();
    let mut schemes: Vec<&str> =
        report.studies.iter().flat_map(|study| &study.schemes).map(String::as_str).collect();
    schemes.sort_unstable();
    schemes.dedup();
    let counts = [(runs, "run"), (schemes.len(), "scheme"), (report.machines.len(), "machine")];
    html! {
        header {
            p.kicker { "Contend report" }
            h1 { (report.title) }
            p.meta {
                @for (count, noun) in counts { @if count > 0 { (plural(count, noun)) " \u{b7} " } }
                (report.folder)
            }
            nav aria-label="Contents" {
                a href="#findings" { "Findings" }
                @if report.conditions.is_some() { a href="#conditions-section" { "Conditions" } }
                @if !report.claims.is_empty() { a href="#claims" { "Claims" } }
                @if report.studies.len() == 1 {
                    a href="#figures-1" { "Figures" } a href="#settings-1" { "Settings" }
                    a href="#region-1" { "Tested region" } a href="#runs-1" { "Runs" }
                } @else {
                    @for (study, nth) in report.studies.iter().zip(1..) { a href={ "#study-" (nth) } { (study.title) } }
                }
                @if !report.machines.is_empty() { a href="#machines" { "Machines" } }
                a href="#reading" { "How to read this" }
            }
        }
        "\n"
    }
}

fn list(class: &str, sentences: &[String]) -> Markup {
    html! {
        @if !sentences.is_empty() {
            ul class=(class) { @for sentence in sentences { li { (coded(sentence)) } } }
            "\n"
        }
    }
}

/// Returns the first section of a page: the findings and cautions of the whole report.
fn findings(report: &Report) -> Markup {
    let machines = report.machines.len();
    let compared = format!(
        "{machines} MACHINES: figures of different machines stand side by side; they do not compare schemes."
    );
    let inner = html! {
        @if let Some(conditions) = &report.conditions { (list("says", &[conditions::findings(conditions)])) }
        @for study in &report.studies {
            @if report.studies.len() > 1 { h3 { (study.title) } }
            (list("says", &words::findings(study)))
            (list("cautions", &words::cautions(study)))
            p.region-line { (region::sentence(study)) }
        }
        @if machines > 1 { (list("cautions", &[compared])) }
        (list("cautions", &report.remarks))
    };
    section("findings", "Findings", &inner)
}

fn section(id: &str, title: &str, inner: &Markup) -> Markup {
    html! { section id=(id) { h2 { (title) } "\n" (inner) } "\n" }
}

fn conditions_section(report: &Report) -> Markup {
    let Some(conditions) = &report.conditions else { return Markup::default() };
    let figures =
        html! { @for drawing in conditions::figures(conditions, &report.claims) { (figure(&drawing)) } };
    section("conditions-section", "Conditions", &figures)
}

fn claims_section(claims: &[Claim]) -> Markup {
    let inner = html! {
        @for claim in claims {
            article.claim {
                h3 { (claim.name) }
                blockquote { (claim.statement) }
                (facts(&claims::facts(claim)))
                @let mechanisms = claims::mechanisms(claim);
                @if !mechanisms.rows.is_empty() { (mechanisms.html()) }
                p { "Check it again, on fresh points: " code { (claim.recheck) } }
            }
            "\n"
        }
    };
    if claims.is_empty() { inner } else { section("claims", "Claims", &inner) }
}

fn facts(facts: &[(String, String)]) -> Markup {
    html! { dl { @for (name, fact) in facts { div { dt { (name) } dd { (fact) } } } } "\n" }
}

fn study(number: usize, study: &Study, is_alone: bool) -> Markup {
    let (drawn, nth) = (Drawn { number, study }, number + 1);
    let drawings = of_study(number, study);
    let figures = html! {
        div.filters data-study=(number) hidden {}
        p.shown data-shown=(number) role="status" {}
        "\n"
        @for drawing in &drawings { (figure(drawing)) }
        @if drawings.is_empty() {
            p {
                "Its points were drawn rather than combined, so that there are no lines between them; the table of "
                "runs has them all."
            }
        }
        @let knees = knees::grid(drawn);
        @if !knees.rows.is_empty() {
            h3 { "Knees" }
            (knees.html())
            p.note { (Knee::LEGEND) "." }
        }
    };
    let settings = html! {
        (region::off_standard(study).html())
        p.note {
            "* off its standard value. All others are as the workload's specification or the scheme's paper has "
            "them; the tested region lists every one."
        }
    };
    let tested = html! {
        p { (region::sentence(study)) }
        (folded("Every setting", &region::tested(study).html()))
    };
    let runs = html! {
        @if let Some(load) = evidence::load(&study.runs) { p { "Before the runs the machine had " (load) "." } }
        @if let Some(build) = &study.build { p { "Made by build " (build) "." } }
        (folded("Every run, and how to make it again", &evidence::runs(drawn).html()))
    };
    html! {
        div.study id={ "study-" (nth) } {
            @if !is_alone { h2.study { (study.title) } }
            (section(&format!("figures-{nth}"), "Figures", &figures))
            (section(&format!("settings-{nth}"), "Settings and what they stress", &settings))
            (section(&format!("region-{nth}"), "Tested region", &tested))
            (section(&format!("runs-{nth}"), "Runs", &runs))
        }
        "\n"
    }
}

/// Returns a text as HTML. Parts between backticks are names of commands and settings, and become `code` elements.
fn coded(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn folded(title: &str, inner: &Markup) -> Markup {
    html! { details { summary { (title) } "\n" (inner) } "\n" }
}

/// Returns the key of an element, by which the page's script finds it; `None` if it has none.
pub(super) fn keyed(key: &str) -> Option<&str> {
    (!key.is_empty()).then_some(key)
}

/// Returns a figure as HTML: title, legend, panels, caption, and the table of its numbers.
fn figure(figure: &Figure) -> Markup {
    let keys = figure.legend_keys.iter().map(String::as_str).chain(core::iter::repeat(""));
    let has_wider = |width: f64| figure.panels.iter().any(|panel| panel.width > width);
    let (is_wide, is_whole) = (has_wider(400.0), has_wider(800.0));
    html! {
        figure id=(figure.id) {
            h3 { (figure.title) }
            @if !figure.legend.is_empty() {
                p.legend {
                    @for ((name, look), key) in figure.legend.iter().zip(keys) {
                        span data-k=[keyed(key)] { (PreEscaped(swatch(*look))) (name) }
                    }
                }
            }
            div.panels.wide[is_wide].whole[is_whole] {
                @for panel in &figure.panels {
                    "\n"
                    div.panel style=(format!("max-width:{:.0}px", panel.width * 1.5)) data-k=[keyed(&panel.key)] {
                        (PreEscaped(panel.inline()))
                    }
                }
            }
            "\n"
            figcaption { (coded(&figure.caption)) }
            (folded("Numbers", &figure.grid.html()))
        }
        "\n"
    }
}

fn machines(report: &Report) -> Markup {
    let inner = html! { @for machine in &report.machines { (facts(&evidence::machine(machine))) } };
    if report.machines.is_empty() { inner } else { section("machines", "Machines", &inner) }
}

/// Returns the section that explains how to read the figures.
fn reading() -> Markup {
    let says = [
        "A throughput is the median of its repetitions. Its interval is made of order statistics, assumes nothing \
         about how measurements are spread, and has a stated confidence: three runs 75%, five 93.75%, six 96.9%.",
        "A ratio is computed from pairs: the runs of one repetition answered the same requests, one soon after the \
         other. Its interval is that of the signed ranks of the pairs' logarithms.",
        "A verdict needs 90% of confidence and more than 5% of difference: `faster` and `slower` lie beyond the \
         margin as a whole, `same` within it, `unclear` decides nothing.",
        "Throughput counts commits, and neither rollbacks nor aborts. The abort rate is aborts by the scheme as a \
         share of all attempts except user aborts.",
        "A run that failed its check is no result: it is counted, and its figures are left out.",
        "The results are not valid for points that were not measured, for other machines, or for more cores.",
    ];
    section("reading", "How to read this", &list("plain", &says.map(str::to_owned)))
}
