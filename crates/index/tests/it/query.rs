//! Questions: what is found, in which order, and what is refused.

use deliberate_index::{IndexError, IndexFilter, Query, SearchMode};

use super::support::{document, documents, hashing, in_memory, search};

async fn animal_index() -> deliberate_index::Index {
    let index = in_memory(Some(hashing()));
    let mut cats = document(
        "cats",
        &["Cats sleep for most of the day.", "A cat hunts at dusk."],
    );
    "On felines".clone_into(&mut cats.title);
    let dogs = document("dogs", &["Dogs run after the ball.", "The dog barks."]);
    let birds = document("birds", &["Birds sing in the morning near the river."]);
    index.put(vec![cats, dogs, birds]).await.unwrap();
    index.commit(1).await.unwrap();
    index
}

#[tokio::test]
async fn words_find_what_vectors_confirm() {
    let index = animal_index().await;
    let hits = search(&index, "which cats hunt?", SearchMode::Hybrid).await;
    assert_eq!(hits.mode, SearchMode::Hybrid);
    assert_eq!(hits.hits[0].document, "cats");
    let first = &hits.hits[0];
    assert_eq!(first.passage.text, "A cat hunts at dusk.");
    assert_eq!((first.passage.page, first.passage.end_page), (2, 3));
    assert_eq!(first.passage.section, ["Part"]);
    assert!(first.text_score.is_some() && first.similarity.is_some());
    assert_eq!(first.text_rank, Some(1));
}

#[tokio::test]
async fn text_alone_matches_stems_titles_and_headings() {
    let index = animal_index().await;
    let hits = search(&index, "barking", SearchMode::Text).await;
    assert_eq!(documents(&hits), ["dogs"]);
    assert_eq!(Some(hits.hits[0].score), hits.hits[0].text_score);
    let hits = search(&index, "feline", SearchMode::Text).await;
    assert_eq!(documents(&hits), ["cats", "cats"]);
    let hits = search(&index, "part", SearchMode::Text).await;
    assert_eq!(hits.hits.len(), 5);
}

#[tokio::test]
async fn vectors_alone_rank_all() {
    let index = animal_index().await;
    let hits = search(&index, "Birds sing in the morning", SearchMode::Vector).await;
    assert_eq!(hits.mode, SearchMode::Vector);
    assert_eq!(hits.hits[0].document, "birds");
    assert!(hits.hits[0].text_score.is_none());
    assert_eq!(hits.hits.len(), 5);
    let mut scores = hits.hits.iter().map(|hit| hit.score);
    assert!(
        scores
            .clone()
            .zip(scores.by_ref().skip(1))
            .all(|(a, b)| a >= b)
    );
}

#[tokio::test]
async fn syntax_is_text() {
    let index = animal_index().await;
    for text in [
        "title:barks",
        "+dog -barks",
        "\"dog barks\"~3",
        "(dog OR",
        "dog* [a TO",
    ] {
        let hits = search(&index, text, SearchMode::Text).await;
        assert!(documents(&hits).contains(&"dogs"), "{text}");
    }
}

#[tokio::test]
async fn every_script_is_found_by_its_words() {
    let index = in_memory(None);
    let texts = [
        (
            "chinese",
            "深度学习模型在图像识别中取得了显著的进展，并且广泛应用于医学影像分析。",
        ),
        (
            "japanese",
            "機械学習のアルゴリズムは大量のデータから規則を見つける。",
        ),
        ("korean", "인공지능은 데이터를 바탕으로 판단한다."),
        (
            "russian",
            "Методы машинного обучения применяются в медицине.",
        ),
        ("greek", "Οι αλγόριθμοι μαθαίνουν από δεδομένα."),
        ("arabic", "تُستخدم الخوارزميات في التعلّم الآلي."),
        ("hindi", "मशीन लर्निंग चिकित्सा में प्रयोग होती है।"),
        ("thai", "การเรียนรู้ของเครื่องใช้ในการแพทย์"),
        ("german", "Die Größe der Übertragungsfehler im Netz."),
    ];
    let all = texts.map(|(id, text)| document(id, &[text]));
    index.put(all.to_vec()).await.unwrap();
    index.commit(1).await.unwrap();
    for (query, id) in [
        ("图像识别", "chinese"),
        ("医学", "chinese"),
        ("像", "chinese"),
        ("アルゴリズム", "japanese"),
        ("規則", "japanese"),
        ("데이터", "korean"),
        ("МЕДИЦИНЕ", "russian"),
        ("αλγοριθμοι", "greek"),
        ("التعلم", "arabic"),
        ("चिकित्सा", "hindi"),
        ("การแพทย์", "thai"),
        ("grosse ubertragungsfehler", "german"),
    ] {
        let hits = search(&index, query, SearchMode::Text).await;
        assert_eq!(
            hits.hits.first().map(|it| it.document.as_str()),
            Some(id),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_question_of_stop_words_says_so_by_text_and_works_by_vector() {
    let index = animal_index().await;
    let hits = search(&index, "to be or not to be", SearchMode::Text).await;
    assert!(hits.hits.is_empty());
    assert!(hits.notes[0].contains("too common"), "{:?}", hits.notes);
    let hits = search(&index, "of the", SearchMode::Hybrid).await;
    assert_eq!(hits.mode, SearchMode::Vector);
}

#[tokio::test]
async fn empty_and_absurd_questions_are_refused() {
    let index = animal_index().await;
    for text in ["", "  \n", "?!"] {
        let query = Query {
            text: text.to_owned(),
            ..Query::default()
        };
        assert_eq!(index.search(&query).await, Err(IndexError::EmptyQuery));
    }
    for k in [0, 1001] {
        let query = Query {
            text: "cat".to_owned(),
            k,
            ..Query::default()
        };
        let refused = index.search(&query).await;
        assert!(matches!(refused, Err(IndexError::Invalid { .. })));
    }
    let long = "word ".repeat(100_000) + "cat";
    search(&index, &long, SearchMode::Hybrid).await;
}

#[tokio::test]
async fn a_deep_filter_or_odd_name_is_refused() {
    let index = animal_index().await;
    let mut deep = IndexFilter::All;
    for _ in 0..40 {
        deep = IndexFilter::Not(Box::new(deep));
    }
    let odd = IndexFilter::Number {
        name: "a.b".to_owned(),
        from: None,
        to: None,
    };
    for filter in [deep, odd] {
        let query = Query {
            text: "cat".to_owned(),
            filter,
            ..Query::default()
        };
        let refused = index.search(&query).await;
        assert!(matches!(refused, Err(IndexError::Invalid { .. })));
    }
}

#[tokio::test]
async fn nearest_goes_by_vector_or_by_telling_words() {
    let texts = ["A dog that barks after a ball".to_owned()];
    let index = animal_index().await;
    let hits = index.nearest(&texts, &IndexFilter::All, 1).await.unwrap();
    assert_eq!(hits.mode, SearchMode::Vector);
    assert_eq!(documents(&hits), ["dogs"]);
    let plain = in_memory(None);
    let dogs = document("dogs", &["The dog barks."]);
    let birds = document("birds", &["The bird sings."]);
    plain.put(vec![dogs, birds]).await.unwrap();
    plain.commit(1).await.unwrap();
    let hits = plain.nearest(&texts, &IndexFilter::All, 2).await.unwrap();
    assert_eq!(hits.mode, SearchMode::Text);
    assert_eq!(documents(&hits), ["dogs"]);
    let blank = plain.nearest(&[" ".to_owned()], &IndexFilter::All, 2).await;
    assert_eq!(blank, Err(IndexError::EmptyQuery));
}

#[tokio::test]
async fn the_score_is_that_of_bm25() {
    let index = in_memory(None);
    let texts = ["heart", "heart rate", "rate rate rate", "lung volume test"];
    let documents: Vec<_> = texts
        .iter()
        .map(|text| {
            let mut document = document(text, &[text]);
            document.passages[0].section.clear();
            document
        })
        .collect();
    index.put(documents).await.unwrap();
    index.commit(1).await.unwrap();
    let hits = search(&index, "heart", SearchMode::Text).await;
    // Lucene's formula by hand: 4 passages, 2 with the word, mean length 9 / 4.
    let idf = (1.0_f32 + (4.0 - 2.0 + 0.5) / (2.0 + 0.5)).ln();
    let score = |count: f32, length: f32| {
        let norm = 1.2 * (1.0 - 0.75 + 0.75 * length / (9.0 / 4.0));
        idf * count * 2.2 / (count + norm)
    };
    let found: Vec<f32> = hits.hits.iter().map(|hit| hit.score).collect();
    assert_eq!(found.len(), 2);
    assert!((found[0] - score(1.0, 1.0)).abs() < 1e-5, "{found:?}");
    assert!((found[1] - score(1.0, 2.0)).abs() < 1e-5, "{found:?}");
}
