//! Printed references in the forms papers have them.

use deliberate_citations::read_reference;
use deliberate_core::Article;

fn summary(article: &Article) -> String {
    let authors: Vec<String> = article
        .authors
        .iter()
        .map(|it| format!("{}/{}", it.family, it.given.as_deref().unwrap_or("-")))
        .collect();
    let text = |it: &Option<String>| it.clone().unwrap_or_else(|| "-".to_owned());
    format!(
        "{} | {} | {} | {} | {} | {} | {} | {} | {}",
        authors.join("; "),
        article.title,
        text(&article.venue),
        article
            .year()
            .map_or_else(|| "-".to_owned(), |it| it.to_string()),
        text(&article.volume),
        text(&article.issue),
        text(&article.pages),
        article
            .doi
            .as_ref()
            .map(ToString::to_string)
            .or_else(|| article.arxiv_id.as_ref().map(|it| format!("arXiv:{it}")))
            .unwrap_or_default(),
        article.kind.as_str(),
    )
}

#[test]
fn the_common_forms_are_read() {
    for (printed, known) in [
        (
            "[1] Y. LeCun, Y. Bengio, and G. Hinton, “Deep learning,” Nature, vol. 521, no. 7553, pp. 436–444, May 2015, doi: 10.1038/nature14539.",
            "LeCun/Y.; Bengio/Y.; Hinton/G. | Deep learning | Nature | 2015 | 521 | 7553 | 436-444 | 10.1038/nature14539 | journal_article",
        ),
        (
            "LeCun, Y., Bengio, Y., & Hinton, G. (2015). Deep learning. Nature, 521(7553), 436–444. https://doi.org/10.1038/nature14539",
            "LeCun/Y.; Bengio/Y.; Hinton/G. | Deep learning | Nature | 2015 | 521 | 7553 | 436-444 | 10.1038/nature14539 | journal_article",
        ),
        (
            "1. LeCun, Y., Bengio, Y. & Hinton, G. Deep learning. Nature 521, 436–444 (2015).",
            "LeCun/Y.; Bengio/Y.; Hinton/G. | Deep learning | Nature | 2015 | 521 | - | 436-444 |  | journal_article",
        ),
        (
            "1. LeCun Y, Bengio Y, Hinton G. Deep learning. Nature. 2015;521(7553):436-444. doi:10.1038/nature14539",
            "LeCun/Y; Bengio/Y; Hinton/G | Deep learning | Nature | 2015 | 521 | 7553 | 436-444 | 10.1038/nature14539 | journal_article",
        ),
        (
            "J. Doe, A. Roe. A title of sorts. Journal of Things 12(3), 1–10, 2020. doi:10.1000/abc.",
            "Doe/J.; Roe/A. | A title of sorts | Journal of Things | 2020 | 12 | 3 | 1-10 | 10.1000/abc | journal_article",
        ),
        (
            "Kaiming He, Xiangyu Zhang, Shaoqing Ren, and Jian Sun. 2016. Deep residual learning for image recognition. In Proceedings of CVPR, pages 770–778.",
            "He/Kaiming; Zhang/Xiangyu; Ren/Shaoqing; Sun/Jian | Deep residual learning for image recognition | Proceedings of CVPR | 2016 | - | - | 770-778 |  | conference_paper",
        ),
        (
            "Vaswani, A., Shazeer, N.: Attention is all you need. In: Advances in Neural Information Processing Systems, pp. 5998–6008. Curran (2017)",
            "Vaswani/A.; Shazeer/N. | Attention is all you need | Advances in Neural Information Processing Systems | 2017 | - | - | 5998-6008 |  | conference_paper",
        ),
        (
            "Ashish Vaswani et al. Attention is all you need. arXiv preprint arXiv:1706.03762v5, 2017.",
            "Vaswani/Ashish | Attention is all you need | - | 2017 | - | - | - | arXiv:1706.03762 | preprint",
        ),
        (
            "LeCun, Yann, et al. “Deep Learning.” Nature, vol. 521, no. 7553, May 2015, pp. 436–44.",
            "LeCun/Yann | Deep Learning | Nature | 2015 | 521 | 7553 | 436-44 |  | journal_article",
        ),
        (
            "World Health Organization. (2023). Global tuberculosis report. Geneva.",
            "World Health Organization/- | Global tuberculosis report | Geneva | 2023 | - | - | - |  | unknown",
        ),
        (
            "[Vas+17] Srivastava, Nitish, Hinton, Geoffrey, and Sutskever, Ilya. Dropout: a simple way. The Journal of Machine Learning Research, 15(1):1929–1958, 2014.",
            "Srivastava/Nitish; Hinton/Geoffrey; Sutskever/Ilya | Dropout: a simple way | The Journal of Machine Learning Research | 2014 | 15 | 1 | 1929-1958 |  | journal_article",
        ),
        (
            "3. Altschul SF, Gish W, Lipman DJ: Basic local alignment search tool. J Mol Biol 1990, 215:403-410.",
            "Altschul/SF; Gish/W; Lipman/DJ | Basic local alignment search tool | J Mol Biol | 1990 | 215 | - | 403-410 |  | journal_article",
        ),
        (
            "J. Doe. BERT: A title. In FAT* '19, 49-58, 2019.",
            "Doe/J. | BERT: A title | FAT* '19, 49-58 | 2019 | - | - | - |  | conference_paper",
        ),
        (
            "Y. Goldberg, \"Neural methods,\" Ph.D. dissertation, Bar-Ilan University, 2016.",
            "Goldberg/Y. | Neural methods | - | 2016 | - | - | - |  | thesis",
        ),
        (
            "Knuth, D. E. (1997). The art of computer programming (3rd ed., Vol. 1). Addison-Wesley.",
            "Knuth/D. E. | The art of computer programming | Addison-Wesley | 1997 | - | - | - |  | unknown",
        ),
    ] {
        assert_eq!(summary(&read_reference(printed)), known, "{printed}");
    }
}

#[test]
fn what_cannot_be_told_stays_unknown() {
    for text in [
        "",
        "?",
        "see above",
        "12",
        "ibid., p. 4",
        &"(".repeat(10_000),
        &"a. ".repeat(5_000),
        "\u{0}\u{202E}",
    ] {
        let article = read_reference(text);
        assert_eq!(article.authors, [], "{text:.20}");
        assert_eq!(article.doi, None);
        assert_eq!(article.date, None);
    }
    let only_doi = read_reference("(see https://doi.org/10.1000/x(1)y).");
    assert_eq!(only_doi.doi.unwrap().as_str(), "10.1000/x(1)y");
    assert_eq!(only_doi.title, "");
}
