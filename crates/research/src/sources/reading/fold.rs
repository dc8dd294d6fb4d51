//! The one form in which names and titles are compared.

pub(crate) use deliberate_citations::folded;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_marks_go() {
        assert_eq!(folded(" José O’Brien—Ångström "), "jose obrien angstrom");
        assert_eq!(folded("Mu\u{308}ller & Łoś"), "muller los");
        assert_eq!(folded("α-Synuclein"), "α synuclein");
        assert_eq!(folded("Nguyễn"), "nguyen");
        assert_eq!(folded("?!"), "");
    }
}
