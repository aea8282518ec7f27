//! `shared` keeps every vector, natively.

use conform::matrix::Run;
use conform::native;
use conform::reply::Hello;
use conform::vectors::{CONCERNS, faults, suite};
use std::collections::BTreeSet;

#[test]
fn shared_keeps_every_vector() {
    let vectors = suite();
    let replies: Vec<_> = vectors.iter().map(|vector| native::answer(&vector.case())).collect();
    let hello = Hello { target: "shared".to_owned(), version: String::new(), resolution_us: 1 };
    let run = Run::judged(hello, &vectors, &replies);
    let wrong = run.not_whole(&vectors, &[]);
    assert!(
        wrong.is_empty(),
        "
{}",
        wrong.join(
            "
"
        )
    );
    assert_eq!(vectors.len(), 192, "vectors of the suite");
}

#[test]
fn every_vector_says_what_breaks_where_it_fails() {
    let known: BTreeSet<String> = faults().unwrap().into_iter().map(|fault| fault.id).collect();
    let (mut names, mut named) = (BTreeSet::new(), BTreeSet::new());
    for vector in suite() {
        assert!(names.insert(vector.name.clone()), "{} twice", vector.name);
        assert!(!vector.note.is_empty(), "{} has no note", vector.name);
        let about = vector.about.unwrap_or_default();
        assert!(CONCERNS.iter().any(|concern| concern.name == about), "{}: {about}", vector.name);
        named.extend(vector.faults);
    }
    assert_eq!(named, known, "faults named by vectors, and faults described");
}
