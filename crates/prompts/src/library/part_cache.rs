//! A cache of all parts of a library as they were last read. Reads only what changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    LibraryProblem, ProblemSeverity, discover_parts,
    file_tree::FileTree,
    part::{LibraryItem, LibraryPart, LibraryRoot, LibraryRootKind},
    read::{self, source_file::ReadContext},
    roots,
    validate::templates,
};
use crate::{
    model::{LibraryItemKind, LibraryLayer},
    options::{EngineLimits, EngineOptions, LibraryPaths},
    template::TemplateRenderer,
};

/// The number of parts below which one thread reads them all.
const PARALLEL_THRESHOLD: usize = 64;

/// The maximum number of reader threads.
const MAX_READER_THREADS: usize = 4;

/// The index of a root and the path of a part in it.
type PartKey = (usize, String);

/// The shipped parts, which never change while the program runs. Their roots always exist and come
/// first, so that their keys never change either.
static SHIPPED_PARTS: OnceLock<BTreeMap<PartKey, Arc<LibraryPart>>> = OnceLock::new();

/// All parts as they were last read.
#[derive(Debug, Default)]
pub(crate) struct PartCache {
    paths: LibraryPaths,
    pub(crate) limits: EngineLimits,
    pub(crate) roots: Vec<LibraryRoot>,
    pub(crate) parts: BTreeMap<PartKey, Arc<LibraryPart>>,
    /// Problems of the folders themselves.
    pub(crate) problems: Vec<LibraryProblem>,
    /// Checks templates; `None` until the first load is complete, so that the first load does not
    /// take longer than necessary.
    renderer: Option<TemplateRenderer>,
}

impl PartCache {
    /// Reads all parts.
    pub(crate) fn load(options: &EngineOptions) -> Self {
        let mut stock = Self {
            paths: options.paths.clone(),
            limits: options.limits.clone(),
            ..Self::default()
        };
        stock.reload();
        stock
    }

    /// Reads all parts again. Categories and settings that became invalid keep their last good
    /// version here; the merge decides about all other items.
    pub(crate) fn reload(&mut self) {
        let old = std::mem::take(&mut self.parts);
        (self.roots, self.problems) = roots::find_roots(&self.paths);
        let mut keys = self.keys(LibraryLayer::Workspace);
        if keys.len() > self.limits.files {
            self.problems.push(too_many_files(self.limits.files));
            keys.truncate(self.limits.files);
        }
        let units = self.read_all(&keys);
        self.parts = keys
            .into_iter()
            .zip(units)
            .map(|(key, unit)| {
                let unit = merge_with_previous(unit, old.get(&key).map(Arc::as_ref));
                (key, Arc::new(unit))
            })
            .collect();
        let shipped = SHIPPED_PARTS.get_or_init(|| self.read_shipped());
        self.parts.extend(
            shipped
                .iter()
                .map(|(key, unit)| (key.clone(), unit.clone())),
        );
    }

    /// Checks the templates of the workspace now, and those of every part that is read later.
    pub(crate) fn check_templates(&mut self) {
        if self.renderer.is_some() {
            return;
        }
        let renderer = TemplateRenderer::new(&self.limits);
        for ((index, _), unit) in &mut self.parts {
            let own = self.roots.get(*index);
            if own.is_some_and(|root| root.layer == LibraryLayer::Workspace)
                && let Ok(Some(checked)) = catch_unwind(AssertUnwindSafe(|| {
                    templates::recheck_part(&renderer, unit)
                }))
            {
                *unit = checked;
            }
        }
        self.renderer = Some(renderer);
    }

    fn read_shipped(&self) -> BTreeMap<PartKey, Arc<LibraryPart>> {
        let keys = self.keys(LibraryLayer::Shipped);
        let units = self.read_all(&keys).into_iter().map(Arc::new);
        keys.into_iter().zip(units).collect()
    }

    /// Returns the keys of all parts of a layer.
    fn keys(&self, layer: LibraryLayer) -> Vec<PartKey> {
        let roots = self.roots.iter().enumerate();
        roots
            .filter(|(_, root)| root.layer == layer)
            .flat_map(|(index, root)| {
                let parts = discover_parts::find_parts(root, "").into_iter();
                parts.map(move |path| (index, path))
            })
            .collect()
    }

    /// Reads the parts that these files belong to again.
    pub(crate) fn reload_paths(&mut self, paths: &[PathBuf]) {
        let (roots, _) = roots::find_roots(&self.paths);
        if !same_roots(&roots, &self.roots) {
            self.reload();
            return;
        }
        let scopes: BTreeSet<PartKey> = paths
            .iter()
            .flat_map(|path| self.scopes_for(path))
            .collect();
        if scopes.iter().any(|(_, scope)| scope.is_empty()) {
            self.reload();
            return;
        }
        for (index, scope) in scopes {
            self.read_scope(index, &scope);
        }
    }

    fn read_scope(&mut self, index: usize, scope: &str) {
        let Some(root) = self.roots.get(index) else {
            return;
        };
        let desk = ReadContext {
            root,
            limits: &self.limits,
        };
        let inner = format!("{scope}/");
        let stale: Vec<PartKey> = self
            .parts
            .range((index, scope.to_owned())..)
            .take_while(|((at, path), _)| *at == index && path.starts_with(scope))
            .filter(|((_, path), _)| path == scope || path.starts_with(&inner))
            .map(|(key, _)| key.clone())
            .collect();
        let mut old = BTreeMap::new();
        for key in stale {
            if let Some(unit) = self.parts.remove(&key) {
                old.insert(key, unit);
            }
        }
        for path in discover_parts::find_parts(root, scope) {
            let key = (index, path);
            if self.parts.len() >= self.limits.files {
                let problem = too_many_files(self.limits.files);
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                return;
            }
            let unit = read_part(desk, self.renderer.as_ref(), &key.1);
            let unit = merge_with_previous(unit, old.get(&key).map(Arc::as_ref));
            self.parts.insert(key, Arc::new(unit));
        }
    }

    /// Returns the parts that a file belongs to, by root.
    fn scopes_for(&self, path: &Path) -> Vec<PartKey> {
        let real = resolve_existing(path);
        self.roots
            .iter()
            .enumerate()
            .filter_map(|(index, root)| {
                let FileTree::Disk(folder) = &root.tree else {
                    return None;
                };
                let inner = real.strip_prefix(folder).ok()?;
                let inner = inner.to_str()?.replace('\\', "/");
                Some((index, discover_parts::part_scope(root, &inner)?))
            })
            .collect()
    }

    fn read_all(&self, keys: &[PartKey]) -> Vec<LibraryPart> {
        let one = |key: &PartKey| {
            self.roots
                .get(key.0)
                .map_or_else(LibraryPart::default, |root| {
                    let desk = ReadContext {
                        root,
                        limits: &self.limits,
                    };
                    read_part(desk, self.renderer.as_ref(), &key.1)
                })
        };
        let readers = std::thread::available_parallelism()
            .map_or(1, std::num::NonZero::get)
            .min(MAX_READER_THREADS);
        if keys.len() < PARALLEL_THRESHOLD || readers < 2 {
            return keys.iter().map(one).collect();
        }
        let next = AtomicUsize::new(0);
        let mut read: Vec<(usize, LibraryPart)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..readers)
                .map(|_| {
                    scope.spawn(|| {
                        let mut mine = Vec::new();
                        loop {
                            let at = next.fetch_add(1, Ordering::Relaxed);
                            let Some(key) = keys.get(at) else {
                                return mine;
                            };
                            mine.push((at, one(key)));
                        }
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap_or_default())
                .collect()
        });
        read.sort_unstable_by_key(|(at, _)| *at);
        read.into_iter().map(|(_, unit)| unit).collect()
    }
}

/// Reads a part. A parser that panics on a file does not affect the other parts.
fn read_part(
    desk: ReadContext<'_>,
    renderer: Option<&TemplateRenderer>,
    path: &str,
) -> LibraryPart {
    let read = || {
        let mut unit = read::read_part(desk, path);
        if let Some(renderer) = renderer.filter(|_| desk.root.layer == LibraryLayer::Workspace) {
            templates::check_part(renderer, &mut unit);
        }
        unit
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| LibraryPart {
        problems: vec![LibraryProblem {
            weight: ProblemSeverity::Error,
            file: desk.root.display_path(path),
            line: None,
            column: None,
            kind: match desk.root.kind {
                LibraryRootKind::Items(kind) => kind,
                LibraryRootKind::Settings => LibraryItemKind::Prompt,
            },
            id: path.rsplit('/').next().unwrap_or(path).to_owned(),
            message: "The parser failed on this file.".to_owned(),
            help: Some("Simplify the file, and please report this.".to_owned()),
            last_good_kept: false,
        }],
        ..LibraryPart::default()
    })
}

/// Combines a part that was just read with its previous version.
fn merge_with_previous(mut unit: LibraryPart, old: Option<&LibraryPart>) -> LibraryPart {
    templates::drop_broken(&mut unit, old);
    keep_previous_settings(unit, old)
}

/// Keeps the previous version of categories and settings that became invalid; the merge decides
/// about all other items.
fn keep_previous_settings(mut unit: LibraryPart, old: Option<&LibraryPart>) -> LibraryPart {
    let is_setting =
        |item: &LibraryItem| matches!(item, LibraryItem::Category(_) | LibraryItem::Injection(_));
    let Some(old) = old.filter(|old| !old.items.is_empty() && old.items.iter().all(is_setting))
    else {
        return unit;
    };
    let broken = unit
        .problems
        .iter()
        .any(|problem| problem.weight == ProblemSeverity::Error);
    if broken && unit.items.is_empty() {
        unit.items.clone_from(&old.items);
        for problem in &mut unit.problems {
            problem.last_good_kept |= problem.weight == ProblemSeverity::Error;
        }
    }
    unit
}

fn same_roots(a: &[LibraryRoot], b: &[LibraryRoot]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.kind == b.kind && a.layer == b.layer && a.tree.real_path("") == b.tree.real_path("")
        })
}

/// Resolves the links in the existing part of a path.
fn resolve_existing(path: &Path) -> PathBuf {
    // The last component is not resolved: a link belongs to the folder that contains it.
    let Some((parent, name)) = path.parent().zip(path.file_name()) else {
        return path.to_path_buf();
    };
    let mut missing = vec![name];
    let mut here = parent;
    loop {
        if let Ok(real) = here.canonicalize() {
            return missing.iter().rev().fold(real, |all, part| all.join(part));
        }
        match here.parent().zip(here.file_name()) {
            Some((parent, name)) => {
                missing.push(name);
                here = parent;
            }
            None => return path.to_path_buf(),
        }
    }
}

fn too_many_files(most: usize) -> LibraryProblem {
    LibraryProblem {
        weight: ProblemSeverity::Error,
        file: String::new(),
        line: None,
        column: None,
        kind: LibraryItemKind::Prompt,
        id: String::new(),
        message: format!("There are more than {most} items; the rest is ignored."),
        help: Some("Remove some, or raise the limit on files.".to_owned()),
        last_good_kept: false,
    }
}
