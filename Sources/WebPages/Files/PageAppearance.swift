import Formats

/// The appearance and the rules of the pages of one hub, as its operator has set them.
package struct PageAppearance: Sendable {
    /// The longest title and the longest description, in characters.
    package static let maximumTitle = 60
    package static let maximumDescription = 200

    /// The name that readers see; `nil` for the hub's name.
    package var title: String?
    /// A sentence below the title.
    package var description: String?
    package var logo: PageLogo?
    package var accent: AccentColour? { didSet { style = accent.map { WebAsset("accent.css", $0.rules) } } }
    private(set) var style: WebAsset?
    /// True if readers see the pictures of news, which the hub fetches.
    package var showsImages = false
    /// True if an urgent message of the desk needs the approval of a second account.
    package var approvesUrgent = false

    package init() {}

    /// The files that its pages load.
    package var assets: [WebAsset] { [logo?.file, style].compactMap(\.self) }
}

/// A picture of a hub: a PNG.
package struct PageLogo: Sendable {
    /// The largest file, in bytes.
    package static let maximumBytes = 102_400

    package let file: WebAsset
    /// Width and height in pixels.
    package let size: (width: Int, height: Int)

    package static let tooLarge = PageAppearanceProblem(
        "is larger than \(maximumBytes / 1_024) KiB: use a smaller picture"
    )

    /// - Throws: ``PageAppearanceProblem`` for a file that is not a PNG of at most ``maximumBytes``.
    package init(png bytes: [UInt8]) throws(PageAppearanceProblem) {
        guard bytes.count <= Self.maximumBytes else { throw Self.tooLarge }
        guard let header = ImageHeader(bytes), header.kind == .png else {
            throw PageAppearanceProblem("is not a PNG with pixels")
        }
        size = (header.width, header.height)
        file = WebAsset("logo.png", bytes)
    }
}

/// The reason why a setting of a hub's pages cannot be used.
package struct PageAppearanceProblem: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The colour of links and buttons, for light and for dark pages.
///
/// Source: WCAG 2.2, "relative luminance" and §1.4.3 (minimum contrast).
package struct AccentColour: Sendable, Equatable {
    /// The smallest ratio at which text can be read.
    private static let minimumContrast = 4.5
    /// The backgrounds of pages with the least contrast: `--paper` and `--card` of the style.
    static let papers = (
        light: Colour(red: 0xF6, green: 0xF6, blue: 0xF3), dark: Colour(red: 0x1D, green: 0x20, blue: 0x24)
    )

    private let light: Colour
    private let dark: Colour

    /// Reads a colour such as `#a4161a`, for light pages; dark pages have a lighter one if it is needed.
    ///
    /// - Throws: ``PageAppearanceProblem`` for another text, and for a colour that cannot be read on a light page.
    package init(_ text: String) throws(PageAppearanceProblem) {
        guard let colour = Colour(text) else { throw PageAppearanceProblem("must be a colour such as #a4161a") }
        let contrast = colour.contrast(with: Self.papers.light)
        guard contrast >= Self.minimumContrast else {
            throw PageAppearanceProblem(
                "has a contrast of \(Self.tenths(contrast)) with the light page, and text needs \(Self.tenths(Self.minimumContrast)): "
                    + "use a darker colour"
            )
        }
        light = colour
        var dark = colour
        while dark.contrast(with: Self.papers.dark) < Self.minimumContrast { dark = dark.lighter }
        self.dark = dark
    }

    private static func tenths(_ ratio: Double) -> String {
        let tenths = Int(ratio * 10)
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// The colour for light pages, as `#rrggbb`.
    package var text: String { "\(light)" }

    /// The rules that replace the colours of the style.
    var rules: [UInt8] {
        let dark = "@media (prefers-color-scheme: dark) { :root { --accent: \(dark); --accent-ink: \(dark.ink); } }"
        return Array(":root { --accent: \(light); --accent-ink: \(light.ink); }\n\(dark)\n".utf8)
    }
}

/// A colour of sRGB.
struct Colour: Sendable, Equatable, CustomStringConvertible {
    var red: UInt8
    var green: UInt8
    var blue: UInt8

    init(red: UInt8, green: UInt8, blue: UInt8) { (self.red, self.green, self.blue) = (red, green, blue) }

    /// Reads `#rrggbb`.
    init?(_ text: String) {
        let digits = text.utf8.dropFirst().compactMap(Hexadecimal.value)
        guard text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#"), digits.count == 6 else { return nil }
        self.init(red: digits[0] << 4 | digits[1], green: digits[2] << 4 | digits[3], blue: digits[4] << 4 | digits[5])
    }

    var description: String { "#\(Hexadecimal.encode([red, green, blue]))" }

    private var luminance: Double {
        func linear(_ value: UInt8) -> Double {
            let share = Double(value) / 255
            return share <= 0.04045 ? share / 12.92 : Self.power((share + 0.055) / 1.055)
        }
        return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    /// Returns a number between 0 and 1 to the power of 2.4, the gamma of sRGB, by repeated square roots.
    private static func power(_ base: Double) -> Double {
        var (result, root, exponent) = (base * base, base, 0.4)
        for _ in 0..<24 {
            root = root.squareRoot()
            exponent *= 2
            guard exponent >= 1 else { continue }
            result *= root
            exponent -= 1
        }
        return result
    }

    /// The ratio of the luminances of two colours, 1 to 21.
    func contrast(with other: Colour) -> Double {
        let (low, high) = (min(luminance, other.luminance), max(luminance, other.luminance))
        return (high + 0.05) / (low + 0.05)
    }

    /// White or nearly black, whichever can be read better on this colour.
    var ink: Colour {
        let (white, black) = (Colour(red: 255, green: 255, blue: 255), Colour(red: 0x10, green: 0x10, blue: 0x10))
        return contrast(with: white) >= contrast(with: black) ? white : black
    }

    /// One step towards white.
    var lighter: Colour {
        func step(_ value: UInt8) -> UInt8 { value + max(value == 255 ? 0 : 1, (255 - value) / 10) }
        return Colour(red: step(red), green: step(green), blue: step(blue))
    }
}
