//! The figures that have an aim: the last table of the report.

/// A measured figure that has an aim.
pub(crate) struct Figure {
    work: String,
    aim: &'static str,
    measured: String,
    /// The figure of the earlier release, if that was measured too.
    earlier: Option<String>,
}

impl Figure {
    /// The figure of this release.
    pub(crate) fn new(work: impl Into<String>, aim: &'static str, measured: impl Into<String>) -> Self {
        Self { work: work.into(), aim, measured: measured.into(), earlier: None }
    }
}

/// Compares each figure with that of the same work of the earlier release.
pub(crate) fn set_beside(figures: &mut [Figure], earlier: Vec<Figure>) {
    for figure in earlier {
        if let Some(same) = figures.iter_mut().find(|same| same.work == figure.work) {
            same.earlier = Some(figure.measured);
        }
    }
}

/// Prints the table, if anything with an aim was measured.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn report(figures: &[Figure]) {
    if figures.is_empty() {
        return;
    }
    println!("What has an aim");
    println!("  {:<50} {:>22} {:>22} {:>22}", "", "earlier release", "this release", "aim");
    for Figure { work, aim, measured, earlier } in figures {
        let earlier = earlier.as_deref().unwrap_or("-");
        println!("  {work:<50} {earlier:>22} {measured:>22} {aim:>22}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_is_next_to_that_of_equal_work() {
        let figure = |work, measured| Figure::new(work, "1 ms", measured);
        let mut figures = [figure("start", "2 ms"), figure("change", "3 ms")];
        set_beside(&mut figures, vec![figure("change", "4 ms"), figure("other", "5 ms")]);
        let earlier = figures.map(|figure| figure.earlier);
        assert_eq!(earlier, [None, Some("4 ms".to_owned())]);
    }
}
