use super::*;

fn config(enabled: &[&str]) -> TrackEventConfig {
    let enabled_categories = enabled.iter().map(|&name| name.to_owned()).collect();
    TrackEventConfig { enabled_categories, ..Default::default() }
}

#[test]
fn configs_of_the_same_events() {
    let base = config(&["a", "b"]);
    let no = Some(false);
    let same = [
        base.clone(),
        config(&["b", "a", "b"]),
        TrackEventConfig { filter_debug_annotations: no, ..base.clone() },
        TrackEventConfig { timestamp_unit_multiplier: Some(1000), ..base.clone() },
        TrackEventConfig { disable_incremental_timestamps: Some(true), ..base.clone() },
    ];
    let (star, yes) = (vec!["*".to_owned()], Some(true));
    let different = [
        config(&["a"]),
        TrackEventConfig { disabled_categories: star.clone(), ..base.clone() },
        TrackEventConfig { enabled_tags: star.clone(), ..base.clone() },
        TrackEventConfig { disabled_tags: star, ..base.clone() },
        TrackEventConfig { filter_debug_annotations: yes, ..base.clone() },
        TrackEventConfig { filter_dynamic_event_names: yes, ..base.clone() },
    ];
    assert!(same.iter().all(|other| select_the_same(&base, other)));
    assert!(!different.iter().any(|other| select_the_same(&base, other)));
}
