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
    Problem, Weight, read, roots, scan,
    sheet::Desk,
    templates,
    tree::Tree,
    unit::{Item, Root, RootKind, Unit},
};
use crate::{
    model::{Kind, Layer},
    options::{Limits, Options, Places},
    template::Renderer,
};

/// Fewer parts than this are read by one thread.
const WORTH_SHARING: usize = 64;

/// The most threads that read at once.
const READERS: usize = 4;

/// A part, by its root and its path in it.
type Key = (usize, String);

/// The shipped parts, which are the same for as long as the program runs. Their roots are always
/// there and come first, so that their keys are the same, too.
static SHIPPED: OnceLock<BTreeMap<Key, Arc<Unit>>> = OnceLock::new();

/// All parts as they were last read.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    places: Places,
    pub(crate) limits: Limits,
    pub(crate) roots: Vec<Root>,
    pub(crate) units: BTreeMap<Key, Arc<Unit>>,
    /// What is wrong with the folders themselves.
    pub(crate) problems: Vec<Problem>,
    /// What templates are checked with; nothing until the first reading is over, which nobody
    /// waits for longer than needed.
    renderer: Option<Renderer>,
}

impl Stock {
    /// Reads everything.
    pub(crate) fn load(options: &Options) -> Self {
        let mut stock = Self {
            places: options.places.clone(),
            limits: options.limits.clone(),
            ..Self::default()
        };
        stock.reload();
        stock
    }

    /// Reads everything again. What became unreadable keeps its last form where that is decided
    /// part by part.
    pub(crate) fn reload(&mut self) {
        let old = std::mem::take(&mut self.units);
        (self.roots, self.problems) = roots::roots(&self.places);
        let mut keys = self.keys(Layer::Workspace);
        if keys.len() > self.limits.files {
            self.problems.push(too_many(self.limits.files));
            keys.truncate(self.limits.files);
        }
        let units = self.read_all(&keys);
        self.units = keys
            .into_iter()
            .zip(units)
            .map(|(key, unit)| {
                let unit = settled(unit, old.get(&key).map(Arc::as_ref));
                (key, Arc::new(unit))
            })
            .collect();
        let shipped = SHIPPED.get_or_init(|| self.read_shipped());
        self.units.extend(
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
        let renderer = Renderer::new(&self.limits);
        for ((index, _), unit) in &mut self.units {
            let own = self.roots.get(*index);
            if own.is_some_and(|root| root.layer == Layer::Workspace)
                && let Ok(Some(checked)) =
                    catch_unwind(AssertUnwindSafe(|| templates::checked(&renderer, unit)))
            {
                *unit = checked;
            }
        }
        self.renderer = Some(renderer);
    }

    fn read_shipped(&self) -> BTreeMap<Key, Arc<Unit>> {
        let keys = self.keys(Layer::Shipped);
        let units = self.read_all(&keys).into_iter().map(Arc::new);
        keys.into_iter().zip(units).collect()
    }

    /// The parts of a layer.
    fn keys(&self, layer: Layer) -> Vec<Key> {
        let roots = self.roots.iter().enumerate();
        roots
            .filter(|(_, root)| root.layer == layer)
            .flat_map(|(index, root)| {
                let parts = scan::parts(root, "").into_iter();
                parts.map(move |path| (index, path))
            })
            .collect()
    }

    /// Reads what these files belong to again.
    pub(crate) fn touch(&mut self, paths: &[PathBuf]) {
        let (roots, _) = roots::roots(&self.places);
        if !same_roots(&roots, &self.roots) {
            self.reload();
            return;
        }
        let scopes: BTreeSet<Key> = paths.iter().flat_map(|path| self.scopes(path)).collect();
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
        let desk = Desk {
            root,
            limits: &self.limits,
        };
        let inner = format!("{scope}/");
        let stale: Vec<Key> = self
            .units
            .range((index, scope.to_owned())..)
            .take_while(|((at, path), _)| *at == index && path.starts_with(scope))
            .filter(|((_, path), _)| path == scope || path.starts_with(&inner))
            .map(|(key, _)| key.clone())
            .collect();
        let mut old = BTreeMap::new();
        for key in stale {
            if let Some(unit) = self.units.remove(&key) {
                old.insert(key, unit);
            }
        }
        for path in scan::parts(root, scope) {
            let key = (index, path);
            if self.units.len() >= self.limits.files {
                let problem = too_many(self.limits.files);
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                return;
            }
            let unit = read_unit(desk, self.renderer.as_ref(), &key.1);
            let unit = settled(unit, old.get(&key).map(Arc::as_ref));
            self.units.insert(key, Arc::new(unit));
        }
    }

    /// The parts that a file belongs to, by root.
    fn scopes(&self, path: &Path) -> Vec<Key> {
        let real = nearest_real(path);
        self.roots
            .iter()
            .enumerate()
            .filter_map(|(index, root)| {
                let Tree::Disk(folder) = &root.tree else {
                    return None;
                };
                let inner = real.strip_prefix(folder).ok()?;
                let inner = inner.to_str()?.replace('\\', "/");
                Some((index, scan::scope(root, &inner)?))
            })
            .collect()
    }

    fn read_all(&self, keys: &[Key]) -> Vec<Unit> {
        let one = |key: &Key| {
            self.roots.get(key.0).map_or_else(Unit::default, |root| {
                let desk = Desk {
                    root,
                    limits: &self.limits,
                };
                read_unit(desk, self.renderer.as_ref(), &key.1)
            })
        };
        let readers = std::thread::available_parallelism()
            .map_or(1, std::num::NonZero::get)
            .min(READERS);
        if keys.len() < WORTH_SHARING || readers < 2 {
            return keys.iter().map(one).collect();
        }
        let next = AtomicUsize::new(0);
        let mut read: Vec<(usize, Unit)> = std::thread::scope(|scope| {
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
fn read_unit(desk: Desk<'_>, renderer: Option<&Renderer>, path: &str) -> Unit {
    let read = || {
        let mut unit = read::unit(desk, path);
        if let Some(renderer) = renderer.filter(|_| desk.root.layer == Layer::Workspace) {
            templates::check(renderer, &mut unit);
        }
        unit
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Unit {
        problems: vec![Problem {
            weight: Weight::Error,
            file: desk.root.named(path),
            line: None,
            column: None,
            kind: match desk.root.kind {
                RootKind::Things(kind) => kind,
                RootKind::Settings => Kind::Prompt,
            },
            id: path.rsplit('/').next().unwrap_or(path).to_owned(),
            message: "This could not be read: a parser failed on it.".to_owned(),
            help: Some("Simplify the files, and please report this.".to_owned()),
            last_good_kept: false,
        }],
        ..Unit::default()
    })
}

/// What was read, in the light of what was there before.
fn settled(mut unit: Unit, old: Option<&Unit>) -> Unit {
    templates::drop_broken(&mut unit, old);
    keep_settings(unit, old)
}

/// Categories and settings that became unreadable stay as they were; everything else is decided
/// where the library is put together.
fn keep_settings(mut unit: Unit, old: Option<&Unit>) -> Unit {
    let is_setting = |item: &Item| matches!(item, Item::Category(_) | Item::Injection(_));
    let Some(old) = old.filter(|old| !old.items.is_empty() && old.items.iter().all(is_setting))
    else {
        return unit;
    };
    let broken = unit
        .problems
        .iter()
        .any(|problem| problem.weight == Weight::Error);
    if broken && unit.items.is_empty() {
        unit.items.clone_from(&old.items);
        for problem in &mut unit.problems {
            problem.last_good_kept |= problem.weight == Weight::Error;
        }
    }
    unit
}

fn same_roots(a: &[Root], b: &[Root]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.kind == b.kind && a.layer == b.layer && a.tree.real("") == b.tree.real("")
        })
}

/// The path with its links resolved as far as it exists.
fn nearest_real(path: &Path) -> PathBuf {
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

fn too_many(most: usize) -> Problem {
    Problem {
        weight: Weight::Error,
        file: String::new(),
        line: None,
        column: None,
        kind: Kind::Prompt,
        id: String::new(),
        message: format!("There are more than {most} things; the rest is not read."),
        help: Some("Remove some, or raise the limit on files.".to_owned()),
        last_good_kept: false,
    }
}
