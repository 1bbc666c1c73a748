import Testing

@testable import WebPages

/// The catalogue of the texts of readers' pages.
struct PageWordsTests {
    private static let languages = PageWords.all.filter { $0 != .pseudo }
    private static let sources = WebFiles.names.filter { $0.hasSuffix(".mustache") || $0.hasSuffix(".js") }

    private static func placeholders(_ text: String) -> Set<String> {
        Set(text.matches(of: /\{(\w+)\}/).map { String($0.1) })
    }

    @Test func `each language has all texts, with the same values`() throws {
        #expect(Set(Self.languages.map(\.language)) == ["en", "de"])
        let english = PageWords.english
        for words in Self.languages {
            let file = WebFiles.text("words.\(words.language).json")
            for name in english.texts.keys {
                // A file that lacks a text shows it in English.
                #expect(file.contains("\"\(name)\": "), "\(name) in \(words.language)")
                let (text, original) = (try #require(words.texts[name]), try #require(english.texts[name]))
                #expect(!text.isEmpty && Self.placeholders(text) == Self.placeholders(original), "\(name): \(text)")
                // They are inserted into scripts, and into attributes.
                #expect(!text.contains(/["<`\\\n]|\$\{|\{\{|\[\[/), "\(name): \(text)")
            }
            #expect(words.texts.keys == english.texts.keys, "\(words.language)")
            let direction = try #require(words.texts["direction"])
            #expect(["ltr", "rtl"].contains(direction), "\(words.language)")
            #expect(words.texts["language"] == words.language)
        }
    }

    @Test func `each text is used, and each text that is used exists`() throws {
        var used: Set<String> = []
        for word in PageWord.allCases { used.insert(word.rawValue) }
        for notice in PageNotice.allCases { used.formUnion([notice.rawValue, "\(notice.rawValue)Text"]) }
        for file in Self.sources {
            for match in WebFiles.text(file).matches(of: /\[\[(\w+)((?: \w+=[\w.]+)*)\]\]/) {
                let name = String(match.1)
                used.insert(name)
                let given = Set(match.2.split(separator: " ").map { String($0.prefix { $0 != "=" }) })
                let text = try #require(PageWords.english.texts[name], "\(name) in \(file)")
                let needed = Self.placeholders(text)
                // A script inserts its values itself.
                #expect(file.hasSuffix(".js") ? given.isEmpty : given == needed, "\(name) in \(file)")
            }
        }
        #expect(used == Set(PageWords.english.texts.keys))
    }

    @Test func `the browser's languages choose one of the catalogue`() {
        for (header, language) in [
            (nil, "en"), ("", "en"), ("de", "de"), ("de-AT,de;q=0.9,en;q=0.8", "de"), ("fr-FR,fr;q=0.9", "en"),
            ("fr, de;q=0.7, en;q=0.8", "en"), ("en;q=0.2, DE ; q=0.3", "de"), ("de;q=0, en", "en"), ("de;q=0", "en"),
            ("*", "en"), ("ar", "en"), ("ar-XB", "ar-XB"), ("de;q=x", "en"),
            (String(repeating: "fr,", count: 400) + "de", "en"),
        ] {
            #expect(PageWords.preferred(by: header).language == language, "\(header ?? "none")")
        }
    }

    @Test func `nothing on a page for readers is missing from the catalogue`() throws {
        let templates = try PageTemplates()
        // What a page was given, names, and signs.
        let given = "\"><script>x</script>'&{{frame.home}}".replacing("\"", with: "&quot;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("'", with: "&#39;").replacing("&{", with: "&amp;{")
        let names = [
            given, "SHA-256", "newswire-hub.crt", "Firefox", "Android", "macOS", "Windows", "UTC", "français",
            "Klingon",
            "Sports", "Apple", "apns",
        ]
        for page in try PageTemplateTests.pages(in: .pseudo) where page.template != "notice" {
            let html = templates.render(page)
            #expect(html.contains("<html lang=\"ar-XB\" dir=\"rtl\">"), "\(page.template)")
            let texts = html.matches(of: />([^<>]+)</).map(\.1)
            let attributes = html.matches(of: /\s(?:aria-label|placeholder|title|alt)="([^"]*)"/).map(\.1)
            for text in texts + attributes {
                var rest = text.replacing(/⟦[^⟦⟧]*⟧/, with: "")
                for name in names { rest.replace(name, with: "") }
                // A title, and keys.
                guard !["t", "j", "k"].contains(rest) else { continue }
                #expect(rest.filter { $0.isLetter }.isEmpty, "'\(text)' in \(page.template)")
            }
        }
        for script in ["reader.js", "notify.js", "sw.js"] {
            let text = String(decoding: PageWords.pseudo.script(script), as: UTF8.self)
            #expect(text.contains("⟦") && !text.contains("[["), "\(script)")
        }
    }

    @Test func `values are inserted once`() {
        #expect(PageWords.english.text(.newsOf, ["name": "{name} {x}"]) == "{name} {x} – news")
        let notice = PageWords.english.notice(.categoriesRefused, ["count": "7"])
        #expect(notice.text == "Choose at most 7 of the categories on the page.")
    }
}
