//! Repairs styles for the processor. It treats a names element that defines labels but not how to
//! print the names as empty and leaves the authors out; such an element gets the default name
//! format, which is what the CSL specification means.

use citationberg::{IndependentStyle, LayoutRenderingElement, Name, NamesChild};

pub(crate) fn repair_style(style: &mut IndependentStyle) {
    repair_elements(&mut style.citation.layout.elements);
    if let Some(bibliography) = &mut style.bibliography {
        repair_elements(&mut bibliography.layout.elements);
    }
    for each in &mut style.macros {
        repair_elements(&mut each.children);
    }
}

fn repair_elements(elements: &mut [LayoutRenderingElement]) {
    for element in elements {
        match element {
            LayoutRenderingElement::Names(names) => {
                let says_how = names
                    .children
                    .iter()
                    .any(|it| matches!(it, NamesChild::Name(_)));
                if !names.children.is_empty() && !says_how {
                    names.children.insert(0, NamesChild::Name(Name::default()));
                }
            }
            LayoutRenderingElement::Group(group) => repair_elements(&mut group.children),
            LayoutRenderingElement::Choose(choose) => {
                repair_elements(&mut choose.if_.children);
                for branch in &mut choose.else_if {
                    repair_elements(&mut branch.children);
                }
                if let Some(branch) = &mut choose.otherwise {
                    repair_elements(&mut branch.children);
                }
            }
            _ => {}
        }
    }
}
