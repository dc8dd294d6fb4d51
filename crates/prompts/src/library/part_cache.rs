//! All parts of a library as they were last read. Reads what changed and nothing else.

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

/// Fewer parts than this are read by one thread.
const PARALLEL_THRESHOLD: usize = 64;

/// The most threads that read at once.
const MAX_READER_THREADS: usize = 4;

/// A part, by its root and its path in it.
type PartKey = (usize, String);

/// The shipped parts, which are the same for as long as the program runs. Their roots are always
/// there and come first, so that their keys are the same, too.
static SHIPPED_PARTS: OnceLock<BTreeMap<PartKey, Arc<LibraryPart>>> = OnceLock::new();

/// All parts as they were last read.
#[derive(Debug, Default)]
pub(crate) struct PartCache {
    paths: LibraryPaths,
    pub(crate) limits: EngineLimits,
    pub(crate) roots: Vec<LibraryRoot>,
    pub(crate) parts: BTreeMap<PartKey, Arc<LibraryPart>>,
    /// What is wrong with the folders themselves.
    pub(crate) problems: Vec<LibraryProblem>,
    /// What templates are checked with; nothing until the first reading is over, which nobody
    /// waits for longer than needed.
    renderer: Option<TemplateRenderer>,
}

impl PartCache {
    /// Reads everything.
    pub(crate) fn load(options: &EngineOptions) -> Self {
        let mut stock = Self {
            paths: options.paths.clone(),
            limits: options.limits.clone(),
            ..Self::default()
        };
        stock.reload();
        stock
    }

    /// Reads everything again. What became unreadable keeps its last form where that is decided
    /// part by part.
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

    /// Checks the templates of the workspace, from now on with whatever is read.
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

    /// The parts of a layer.
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

    /// Reads what these files belong to again.
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

    /// The parts that a file belongs to, by root.
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

/// Reads a part. Whatever a file does to a parser, the other parts are read.
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
            message: "This could not be read: a parser failed on it.".to_owned(),
            help: Some("Simplify the files, and please report this.".to_owned()),
            last_good_kept: false,
        }],
        ..LibraryPart::default()
    })
}

/// What was read, in the light of what was there before.
fn merge_with_previous(mut unit: LibraryPart, old: Option<&LibraryPart>) -> LibraryPart {
    templates::drop_broken(&mut unit, old);
    keep_previous_settings(unit, old)
}

/// Categories and settings that became unreadable stay as they were; everything else is decided
/// where the library is put together.
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

/// The path with its links resolved as far as it exists.
fn resolve_existing(path: &Path) -> PathBuf {
    // The last part is taken as it is: a link is a thing of the folder it stands in.
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
        message: format!("There are more than {most} things; the rest is not read."),
        help: Some("Remove some, or raise the limit on files.".to_owned()),
        last_good_kept: false,
    }
}
