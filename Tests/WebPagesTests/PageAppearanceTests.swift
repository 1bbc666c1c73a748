import Testing

@testable import WebPages

struct PageAppearanceTests {
    /// The beginning of a PNG of 64 by 32 pixels.
    static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        + [0, 0, 0, 64, 0, 0, 0, 32] + [UInt8](repeating: 0, count: 20)

    @Test(arguments: ["#a4161a", "#005A9C", "#000000", "#4f5b00"])
    func `a dark colour is used, and dark pages get a lighter one that can be read`(text: String) throws {
        let accent = try AccentColour(text)
        #expect(accent.text == text.lowercased())
        let rules = String(decoding: accent.rules, as: UTF8.self)
        let colours = rules.matches(of: /#[0-9a-f]{6}/).compactMap { Colour(String($0.output)) }
        try #require(colours.count == 4, "\(rules)")
        for (place, paper) in [(0, AccentColour.papers.light), (2, AccentColour.papers.dark)] {
            #expect(colours[place].contrast(with: paper) >= 4.5, "\(rules)")
            #expect(colours[place].contrast(with: colours[place + 1]) >= 4.5, "\(rules)")
        }
    }

    @Test(
        arguments: [
            ("#ffcc00", "contrast"), ("red", "must be a colour"), ("#12345", "must be"), ("#12345g", "must be"),
        ]
    )
    func `a colour that cannot be read is refused, and so is another text`(text: String, reason: String) {
        let problem = #expect(throws: PageAppearanceProblem.self) { try AccentColour(text) }
        #expect(problem?.description.contains(reason) == true)
    }

    @Test func `the style has the backgrounds that colours are compared with`() {
        let style = WebFiles.text("style.css")
        #expect(style.contains("--paper: \(AccentColour.papers.light);"))
        #expect(style.contains("--card: \(AccentColour.papers.dark);"))
    }

    @Test func `a picture is a PNG of limited size`() throws {
        let logo = try PageLogo(png: Self.png)
        #expect(logo.size == (64, 32) && logo.file.path.hasPrefix("/-/assets/logo."))
        let large = Self.png + [UInt8](repeating: 0, count: PageLogo.maximumBytes)
        let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF] + [UInt8](repeating: 0, count: 60)
        let empty = Self.png[..<16] + [UInt8](repeating: 0, count: 30)
        let refused = [
            (large, "larger than 100 KiB"), (jpeg, "not a PNG"), (Array(empty), "pixels"), ([], "not a PNG"),
        ]
        for (bytes, reason) in refused {
            let problem = #expect(throws: PageAppearanceProblem.self) { try PageLogo(png: bytes) }
            #expect(problem?.description.contains(reason) == true)
        }
    }
}
