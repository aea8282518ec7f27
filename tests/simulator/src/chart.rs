//! The course of a run as a picture: the line, the sessions, the calls.

use crate::{Sample, Scenario};
use plotters::prelude::*;

/// One curve: its name, colour and value at a sample.
type Curve = (&'static str, RGBColor, fn(&Sample) -> u64);

/// Draws a run as SVG.
///
/// # Errors
/// What the drawing library reports.
pub fn svg(scenario: &Scenario, samples: &[Sample]) -> Result<String, String> {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(|error| error.to_string())?;
        let title = format!("{}: {}", scenario.name, scenario.about);
        let below = root.titled(&title, ("sans-serif", 20)).map_err(|error| error.to_string())?;
        let panels = below.split_evenly((PANELS.len(), 1));
        for (area, (name, curves)) in panels.iter().zip(PANELS) {
            panel(area, name, curves, samples)?;
        }
        root.present().map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn panel(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    name: &str,
    curves: &[Curve],
    samples: &[Sample],
) -> Result<(), String> {
    let until_s = samples.last().map_or(1, |sample| sample.at_s.max(1));
    let values = curves.iter().flat_map(|(_, _, value)| samples.iter().map(value));
    let most = values.max().unwrap_or(0).max(1);
    let mut chart = ChartBuilder::on(area)
        .caption(name, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(24)
        .y_label_area_size(64)
        .build_cartesian_2d(0..until_s, 0..most + most / 20)
        .map_err(|error| error.to_string())?;
    let mesh = chart.configure_mesh().x_desc("s").light_line_style(WHITE).draw();
    mesh.map_err(|error| error.to_string())?;
    // A picture is 900 points wide: more samples than that only make the file large.
    let step = (samples.len() / 900).max(1);
    for &(label, color, value) in curves {
        let points = samples.iter().step_by(step).map(|sample| (sample.at_s, value(sample)));
        chart
            .draw_series(LineSeries::new(points, color))
            .map_err(|error| error.to_string())?
            .label(label)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
    }
    chart.configure_series_labels().background_style(WHITE.mix(0.8)).draw().map_err(|error| error.to_string())
}

const SIZE: (u32, u32) = (960, 900);
const PANELS: [(&str, &[Curve]); 3] = [
    (
        "line",
        &[("not called", BLUE, |sample| sample.waiting), ("there", GREEN, |sample| sample.present.into())],
    ),
    (
        "sessions",
        &[
            ("counted", BLUE, |sample| sample.sessions.into()),
            ("really inside", GREEN, |sample| sample.inside.into()),
            ("at the door", RED, |sample| sample.at_door.into()),
        ],
    ),
    (
        "per second",
        &[("called", BLUE, |sample| sample.calls.into()), ("entered", GREEN, |sample| sample.entries.into())],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_every_curve_even_of_nothing() {
        let scenario = crate::all().remove(0);
        for samples in [vec![], vec![Sample { at_s: 1, waiting: 5, ..Sample::default() }]] {
            let text = svg(&scenario, &samples).unwrap();
            assert!(text.starts_with("<svg") && text.contains("really inside"), "{text}");
        }
    }
}
