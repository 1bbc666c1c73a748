import HubProtocol
import Testing

@testable import WebPages

struct NewsTextTests {
    private func text(_ properties: [MessageProperty: String]) -> NewsText { NewsText(MessageProperties(properties)) }

    @Test func `the summary comes before the message, and neither repeats the title`() {
        let all = text(["title": "T", "messageParam": "M", "summary": "S"])
        #expect((all.title, all.text) == ("T", "S"))
        let short = text(["title": "T", "messageParam": "M"])
        #expect((short.title, short.text) == ("T", "M"))
        let bare = text(["messageParam": "M"])
        #expect((bare.title, bare.text) == ("M", nil))
        let summary = text(["summary": "S"])
        #expect((summary.title, summary.text) == ("S", nil))
        let native = text(["title": "T", "message": "M"])
        #expect((native.title, native.text) == ("T", "M"))
        #expect(text(["title": "T", "messageParam": "T"]).text == nil)
    }

    @Test(
        arguments: [
            ("Breaking Sports News : Goal", "Sports", nil), ("SPORTS: Goal", "Sports", nil),
            ("Breaking Sports News: Goal", "sports", nil), ("What's new in Sports? Goal", "Sports", nil),
            ("Local-News: Goal", "Local-News", nil), ("The Town of Upper Hill: Goal", "The Town of Upper Hill", nil),
            ("Whistle! Goal", "Sports", "Whistle! Goal"),
            ("Transports: Goal", "Sports", "Transports: Goal"),
            ("Sports. The referee: Goal", "Sports", "Sports. The referee: Goal"),
            ("All trains stop for Sports day: Goal", "Sports", "All trains stop for Sports day: Goal"),
            ("Sports Goal", "Sports", "Sports Goal"),
            ("Sports: a Goal", "Sports", "Sports: a Goal"),
            ("Sports: Goal in the final", "Sports", "Sports: Goal in the final"),
            ("Stay away: Goal", nil, "Stay away: Goal"),
        ] as [(String, String?, String?)]
    )
    func `a text that adds only the category to the title is left out`(
        message: String,
        category: String?,
        text: String?
    ) {
        var properties: [MessageProperty: String] = ["title": "Goal", "messageParam": message]
        properties[.category] = category
        #expect(self.text(properties).text == text)
        properties[.summary] = "S"
        #expect(self.text(properties).text == "S")
    }

    @Test func `a message in languages alone has the text of the first by name`() {
        let texts = text([
            "News_French": "Bonjour", "Title_French": "Titre", "Link_French": "https://a.example/fr",
            "News_English": "Hello",
            "link": "https://a.example/",
        ])
        #expect(texts.title == "Hello")
        #expect(texts.link == "https://a.example/")
        let french = text(["News_French": "Bonjour", "Title_French": "Titre", "Link_French": "https://a.example/fr"])
        #expect((french.title, french.text, french.link) == ("Titre", "Bonjour", "https://a.example/fr"))
        #expect(text(["title": "T", "News_French": "Bonjour"]).text == nil)
    }

    @Test func `a reader of one language gets what is said in it`() throws {
        func storyVersion(_ properties: [MessageProperty: String], _ language: String? = "french") throws
            -> StoryVersion?
        {
            StoryVersion(
                sequence: 1,
                at: 0,
                message: "m",
                body: MessageProperties(properties).encoded(),
                scope: "s",
                language: try language.map { try LanguageName($0) }
            )
        }
        let both: [MessageProperty: String] = [
            "title": "Fire", "messageParam": "Fire!", "summary": "S", "link": "https://a.example/",
            "News_French": "Feu !", "Title_French": "Feu", "Link_French": "https://a.example/fr", "story": "s",
        ]
        let french = try #require(try storyVersion(both))
        #expect((french.text.title, french.text.text) == ("Feu", "Feu !"))
        #expect(french.text.link == "https://a.example/fr" && french.text.language?.text == "french")
        let main = try #require(try storyVersion(both, nil))
        #expect((main.text.title, main.text.text, main.text.language) == ("Fire", "S", nil))
        let short = try #require(try storyVersion(["News_French": "Feu !", "title": "Fire"]))
        #expect((short.text.title, short.text.text) == ("Feu !", nil))
        #expect(try storyVersion(both, "Spanish") == nil)
        #expect(try storyVersion(["title": "Fire"]) == nil)
        // What another language's readers are told to forget is not taken from these.
        #expect(try storyVersion(["News_Spanish": "Nada", "story": "s", "status": "withdrawn"]) == nil)
        #expect(try storyVersion(["story": "s", "status": "withdrawn"]) != nil)
        #expect(try storyVersion(["News_French": "Rien", "story": "s", "status": "withdrawn"]) != nil)
    }

    @Test func `the author is the writer, else the outlet`() {
        #expect(text(["title": "T", "author": "A", "feed": "F"]).author == "A")
        #expect(text(["title": "T", "feed": "F"]).author == "F")
        #expect(text(["title": "T"]).author == nil)
    }

    @Test(
        arguments: [
            "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "mailto:a@b.c", "//a.example/",
            "a.example",
            "https://user:word@a.example/", "https://", "ftp://a.example/", "https://a.example/\"><script>",
            "http://a.example/ b", "vbscript:x", "HTTPS:a",
        ]
    )
    func `a link of another scheme, or none at all, is left out`(link: String) {
        let texts = text(["title": "T", "link": link, "image": link])
        #expect(texts.link == nil && texts.image == nil)
    }

    @Test func `a link is written as an address`() {
        #expect(
            text(["title": "T", "link": "HTTPS://a.example/é?a=1&b='2'"]).link == "https://a.example/%C3%A9?a=1&b='2'"
        )
    }

    @Test func `texts are one line without control and bidirectional characters, and bounded`() {
        let hostile = text([
            "title": "a\u{0}b\u{8}\u{202E}c\u{2066}d\u{FFFE}\r\ne\u{FEFF}",
            "messageParam": String(repeating: "x", count: 20_000),
            "author": String(repeating: "e\u{301}", count: 5_000),
        ])
        #expect(hostile.title == "abcd e")
        #expect(hostile.text?.count == NewsText.maximumText)
        #expect(hostile.author.map { $0.count <= NewsText.maximumName } == true)
        let long = text(["title": String(repeating: "long ", count: 2_000)])
        #expect(long.title.count <= NewsText.maximumTitle && long.title.hasSuffix("…"))
        let marks = text(["title": "a" + String(repeating: "\u{301}", count: 30_000)])
        #expect(marks.title.utf8.count <= NewsText.maximumTitle * 16)
    }

    @Test func `a message that is empty, secret or not an object of texts is not for everybody`() {
        func isPublic(_ body: String) -> Bool {
            StoryVersion(sequence: 1, at: 0, message: "m", body: Array(body.utf8), scope: "s") != nil
        }
        #expect(isPublic(#"{"title":"a"}"#) && isPublic(#"{"title":"a","secureId":""}"#) && isPublic(#"{"title":1}"#))
        for body in [
            #"{"title":"a","secureId":"17"}"#, #"{"title":"a","SECUREID":17}"#, #"{"title":"a","secureId":{"id":1}}"#,
            #"{"other":"a"}"#, "{}", "[]", "", #"{"title":"\u202e"}"#,
        ] {
            #expect(!isPublic(body), "\(body)")
        }
    }

    @Test func `a date after the message, or none, is the message's`() throws {
        func published(_ text: String?) throws -> Timestamp {
            var properties: [MessageProperty: String] = ["title": "T"]
            properties[.published] = text
            return try storyVersion(10, properties).published
        }
        #expect(try published("2030-03-17T17:46:41Z") == second(1))
        #expect(try published("2031-01-01T00:00:00Z") == second(10))
        #expect(try published("yesterday") == second(10))
        #expect(try published(nil) == second(10))
    }
}
