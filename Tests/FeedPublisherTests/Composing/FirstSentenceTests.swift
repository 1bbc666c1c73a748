import Testing

@testable import FeedPublisher

@Suite struct FirstSentenceTests {
    @Test(arguments: [
        ("Dr. Almi opens the new clinic at noon. Everyone is welcome.", "Dr. Almi opens the new clinic at noon."),
        ("The U.S. Army leaves. It rains.", "The U.S. Army leaves."),
        ("The team meets at 7 p.m. at the old mill. Bring a lamp.", "The team meets at 7 p.m. at the old mill."),
        ("Fire in the harbour! Close your windows.", "Fire in the harbour!"),
        ("Prices rise by 2.5 percent. The bank waits.", "Prices rise by 2.5 percent."),
        ("J. R. Smith wins the race. He is 19.", "J. R. Smith wins the race."),
        ("Wow. The mayor resigns. More soon.", "Wow. The mayor resigns."),
        ("Gov. Jones and Sen. Miller met. Then both left.", "Gov. Jones and Sen. Miller met."),
        ("No end in sight", "No end in sight"),
        ("Das Haus von Dr. Brenn brennt. Alle sind gerettet.", "Das Haus von Dr. Brenn brennt."),
        ("首都で大規模な停電が続いています。約三十万世帯に影響が出ています。", "首都で大規模な停電が続いています。"),
    ])
    func `a sentence ends at its end, not after an abbreviation`(text: String, sentence: String) {
        #expect(FirstSentence.of(text) == sentence)
    }

    @Test func `a long text is cut at a word`() {
        let text = Array(repeating: "harbour", count: 100).joined(separator: " ")
        let title = TextClip.clipWords(text, characters: 30)
        #expect(title == "harbour harbour harbour…")
        #expect(TextClip.clipWords(String(repeating: "停", count: 40), characters: 30).count == 30)
    }
}
