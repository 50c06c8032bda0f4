//! What the shop sells: fixed at compile time.

use crate::money::Pence;

/// A shelf of the shop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Category {
    pub(crate) slug: &'static str,
    pub(crate) name: &'static str,
}

/// Something for sale. Empty `sizes` or `colours` means that there is no such choice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) slug: &'static str,
    pub(crate) name: &'static str,
    pub(crate) category: &'static str,
    pub(crate) price: Pence,
    pub(crate) about: &'static str,
    pub(crate) sizes: &'static [&'static str],
    pub(crate) colours: &'static [&'static str],
    pub(crate) in_stock: bool,
}

impl Product {
    /// Whether the visitor must go to the product's own page to choose something.
    pub(crate) fn has_options(&self) -> bool {
        !self.sizes.is_empty() || !self.colours.is_empty()
    }

    /// The colour of the drawn picture, in degrees: decoration, but always the same.
    pub(crate) fn hue(&self) -> u32 {
        self.slug
            .bytes()
            .fold(0, |hue, byte| (hue * 31 + u32::from(byte)) % 360)
    }
}

/// How a list of products is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sort {
    #[default]
    Featured,
    PriceUp,
    PriceDown,
    Name,
}

impl Sort {
    pub(crate) const ALL: [Self; 4] = [Self::Featured, Self::PriceUp, Self::PriceDown, Self::Name];

    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::Featured => "featured",
            Self::PriceUp => "price-up",
            Self::PriceDown => "price-down",
            Self::Name => "name",
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Featured => "Featured",
            Self::PriceUp => "Price, low to high",
            Self::PriceDown => "Price, high to low",
            Self::Name => "Name",
        }
    }

    /// An unknown slug is the default order: it comes from an address bar.
    pub(crate) fn from_slug(slug: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|sort| sort.slug() == slug)
            .unwrap_or_default()
    }

    pub(crate) fn apply(self, products: &mut [&'static Product]) {
        match self {
            Self::Featured => {}
            Self::PriceUp => products.sort_by_key(|product| product.price),
            Self::PriceDown => products.sort_by_key(|product| std::cmp::Reverse(product.price)),
            Self::Name => products.sort_by_key(|product| product.name),
        }
    }
}

pub(crate) fn category(slug: &str) -> Option<&'static Category> {
    CATEGORIES.iter().find(|category| category.slug == slug)
}

pub(crate) fn product(slug: &str) -> Option<&'static Product> {
    PRODUCTS.iter().find(|product| product.slug == slug)
}

/// The products whose name, description or category has every word of `query`, in any letter case.
/// A query of no words finds nothing.
pub(crate) fn search(query: &str) -> Vec<&'static Product> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    if words.is_empty() {
        return Vec::new();
    }
    PRODUCTS
        .iter()
        .filter(|product| {
            let text = format!("{} {} {}", product.name, product.about, product.category);
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        })
        .collect()
}

pub(crate) const CATEGORIES: [Category; 4] = [
    Category {
        slug: "footwear",
        name: "Footwear",
    },
    Category {
        slug: "clothing",
        name: "Clothing",
    },
    Category {
        slug: "packs",
        name: "Packs",
    },
    Category {
        slug: "camp",
        name: "Camp",
    },
];

const SHOE_SIZES: &[&str] = &["40", "41", "42", "43", "44", "45"];
const BODY_SIZES: &[&str] = &["Small", "Medium", "Large", "Extra large"];

const PLAIN: Product = Product {
    slug: "",
    name: "",
    category: "",
    price: Pence(0),
    about: "",
    sizes: &[],
    colours: &[],
    in_stock: true,
};

pub(crate) const PRODUCTS: [Product; 18] = [
    Product {
        slug: "trail-running-shoes",
        name: "Trail Running Shoes",
        category: "footwear",
        price: Pence::pounds(89),
        about: "Light shoes with a deep tread for muddy paths.",
        sizes: SHOE_SIZES,
        colours: &["Slate Grey", "Forest Green", "Sunset Orange"],
        ..PLAIN
    },
    Product {
        slug: "road-running-shoes",
        name: "Road Running Shoes",
        category: "footwear",
        price: Pence::pounds(79),
        about: "Cushioned shoes for tarmac and long evenings.",
        sizes: SHOE_SIZES,
        colours: &["Slate Grey", "Sky Blue"],
        ..PLAIN
    },
    Product {
        slug: "leather-hiking-boots",
        name: "Leather Hiking Boots",
        category: "footwear",
        price: Pence::pounds(139),
        about: "Full-grain leather with a stiff sole, made for scree.",
        sizes: SHOE_SIZES,
        ..PLAIN
    },
    Product {
        slug: "camp-sandals",
        name: "Camp Sandals",
        category: "footwear",
        price: Pence::pounds(34),
        about: "For the evening, when the boots come off.",
        sizes: SHOE_SIZES,
        in_stock: false,
        ..PLAIN
    },
    Product {
        slug: "wool-hiking-socks",
        name: "Wool Hiking Socks",
        category: "clothing",
        price: Pence::pounds(14),
        about: "Merino with a padded heel. One size fits all.",
        ..PLAIN
    },
    Product {
        slug: "cotton-socks",
        name: "Cotton Everyday Socks",
        category: "clothing",
        price: Pence::pounds(6),
        about: "Plain, soft and cheap.",
        ..PLAIN
    },
    Product {
        slug: "rain-jacket",
        name: "Rain Jacket",
        category: "clothing",
        price: Pence::pounds(95),
        about: "Three layers, taped seams and a hood that stays up.",
        sizes: BODY_SIZES,
        colours: &["Midnight Blue", "Forest Green", "Signal Red"],
        ..PLAIN
    },
    Product {
        slug: "fleece-jacket",
        name: "Fleece Jacket",
        category: "clothing",
        price: Pence::pounds(65),
        about: "Warm when damp, small when packed.",
        sizes: BODY_SIZES,
        ..PLAIN
    },
    Product {
        slug: "sun-hat",
        name: "Sun Hat",
        category: "clothing",
        price: Pence::pounds(22),
        about: "A wide brim and a cord for windy ridges.",
        ..PLAIN
    },
    Product {
        slug: "ridge-backpack",
        name: "Ridge Backpack",
        category: "packs",
        price: Pence::pounds(110),
        about: "Forty litres, for a weekend above the tree line.",
        colours: &["Slate Grey", "Signal Red"],
        ..PLAIN
    },
    Product {
        slug: "day-backpack",
        name: "Day Backpack",
        category: "packs",
        price: Pence::pounds(48),
        about: "Eighteen litres: lunch, a layer and a map.",
        ..PLAIN
    },
    Product {
        slug: "dry-bag",
        name: "Waterproof Dry Bag",
        category: "packs",
        price: Pence::pounds(18),
        about: "Roll the top three times and it floats.",
        ..PLAIN
    },
    Product {
        slug: "trekking-poles",
        name: "Trekking Poles",
        category: "packs",
        price: Pence::pounds(55),
        about: "A folding pair with cork grips.",
        ..PLAIN
    },
    Product {
        slug: "enamel-mug",
        name: "Enamel Mug",
        category: "camp",
        price: Pence(950),
        about: "Chips with honour. Dishwasher safe.",
        ..PLAIN
    },
    Product {
        slug: "camping-stove",
        name: "Camping Stove",
        category: "camp",
        price: Pence::pounds(42),
        about: "Boils a litre in four minutes.",
        ..PLAIN
    },
    Product {
        slug: "cook-pot",
        name: "Titanium Cook Pot",
        category: "camp",
        price: Pence::pounds(38),
        about: "Nine hundred millilitres, with a lid.",
        ..PLAIN
    },
    Product {
        slug: "head-torch",
        name: "Head Torch",
        category: "camp",
        price: Pence::pounds(27),
        about: "Red light for maps, white light for everything else.",
        ..PLAIN
    },
    Product {
        slug: "two-person-tent",
        name: "Two-Person Tent",
        category: "camp",
        price: Pence::pounds(210),
        about: "Two doors, two porches, under two kilos.",
        in_stock: false,
        ..PLAIN
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn slugs_are_unique_and_every_product_stands_on_a_shelf() {
        let slugs: BTreeSet<_> = PRODUCTS.iter().map(|product| product.slug).collect();
        assert_eq!(slugs.len(), PRODUCTS.len());
        for product in PRODUCTS {
            assert!(category(product.category).is_some(), "{}", product.slug);
        }
    }

    #[test]
    fn search_wants_every_word_and_ignores_letter_case() {
        let names = |query| {
            search(query)
                .iter()
                .map(|product| product.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names("RUNNING trail"), ["Trail Running Shoes"]);
        assert_eq!(
            names("socks"),
            ["Wool Hiking Socks", "Cotton Everyday Socks"]
        );
        assert!(names("").is_empty());
        assert!(names("umbrella").is_empty());
    }

    #[test]
    fn sorting_by_price_puts_the_dearest_last() {
        let mut products: Vec<_> = PRODUCTS.iter().collect();
        Sort::PriceUp.apply(&mut products);
        assert_eq!(
            products.first().map(|product| product.slug),
            Some("cotton-socks")
        );
        assert_eq!(
            products.last().map(|product| product.slug),
            Some("two-person-tent")
        );
    }
}
