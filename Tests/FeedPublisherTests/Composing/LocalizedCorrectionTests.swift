import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import FeedLists
@testable import FeedPublisher

/// Corrections and withdrawals of stories that were told in several languages, through real passes.
@Suite struct LocalizedCorrectionTests {
    private typealias Item = FakeSite.Item

    private struct Desk {
        let room: Newsroom
        let lists: FeedLists

        /// An English and a French feed, read once while they were empty.
        init(_ keys: String = "") async throws {
            room = try Newsroom()
            let list = """
                category: World
                language: English
                every: 1m
                corrections: ["correction:", "correctif :"]
                retractions: [retracted, rétracté]
                \(keys)
                templates:
                  French: "Flash : $(title)"
                feeds:
                  - url: \(room.site.url("/en"))
                    local: true
                  - url: \(room.site.url("/fr"))
                    local: true
                    language: French
                """
            lists = try FeedLists.parse([(file: "w.yaml", text: list)])
            try await bring([], [])
        }

        func bring(_ english: [Item]?, _ french: [Item]?, after seconds: Double = 60) async throws {
            for (path, items) in [("/en", english), ("/fr", french)] {
                if let items { room.site.set(path, FakeSite.Document(body: FakeSite.rss(items))) }
            }
            room.advance(seconds)
            try await room.pass(lists)
        }

        /// What readers of both languages get of each message, its status, and whether it is of the first one's story.
        func sent() throws -> [String] {
            let all = try room.hub.messages.map { try MessageProperties(json: $0.body) }
            return all.map { found in
                let texts = ["messageParam", "News_French"].map { name in
                    found[name]?.replacing("Breaking World News : ", with: "") ?? "-"
                }
                let isOfFirst = found["story"] == all[0]["story"] ? "" : " other"
                let replaces = found["replaces"].map { $0 == all[0]["story"] ? " for the first" : " for \($0)" } ?? ""
                return "\(texts.joined(separator: " | ")) [\(found["status"] ?? "")]\(replaces)\(isOfFirst)"
            }
        }
    }

    private static let mayor = (
        en: Item("Mayor resigns", id: "e1", link: "https://news.example/en/1"),
        fr: Item("Le maire part", id: "f1", link: "https://news.example/fr/1")
    )
    private static let retracted = (
        en: Item("Retracted: Mayor resigns", id: "e1", link: "https://news.example/en/1"),
        fr: Item("Rétracté : Le maire part", id: "f1", link: "https://news.example/fr/1")
    )
    private static let corrected = (
        en: Item("Correction: Mayor stays", id: "e1", link: "https://news.example/en/1"),
        fr: Item("Correctif : Le maire reste", id: "f1", link: "https://news.example/fr/1")
    )
    private static let bothLanguages = "Mayor resigns | Flash : Le maire part []"

    @Test func `a French retraction withdraws for French readers only, and the main language goes on`() async throws {
        let desk = try await Desk()
        try await desk.bring([Self.mayor.en], [Self.mayor.fr])
        try await desk.bring([Self.mayor.en], [Self.retracted.fr])
        try await desk.bring([Self.corrected.en], [Self.retracted.fr])
        try await desk.bring([Self.retracted.en], [Self.mayor.fr])
        #expect(
            try desk.sent() == [
                Self.bothLanguages, "- | Flash : Rétracté : Le maire part [withdrawn] for the first",
                "Correction: Mayor stays | - [correction] for the first",
                "Retracted: Mayor resigns | - [withdrawn] for the first",
            ]
        )
    }

    @Test func `a correction in each language replaces that language's text, in one pass or two`() async throws {
        for isOnePass in [true, false] {
            let desk = try await Desk()
            try await desk.bring([Self.mayor.en], [Self.mayor.fr])
            try await desk.bring([Self.corrected.en], isOnePass ? [Self.corrected.fr] : nil)
            try await desk.bring(nil, [Self.corrected.fr])
            #expect(
                try desk.sent().sorted() == [
                    "- | Flash : Correctif : Le maire reste [correction] for the first",
                    "Correction: Mayor stays | - [correction] for the first", Self.bothLanguages,
                ]
            )
        }
    }

    @Test func `a retraction in the main language is announced in each language that showed the story`() async throws {
        for isJoined in [true, false] {
            let desk = try await Desk()
            try await desk.bring([Self.mayor.en], isJoined ? [Self.mayor.fr] : nil)
            try await desk.bring(nil, [Self.mayor.fr])
            try await desk.bring([Self.retracted.en], nil)
            try await desk.bring(nil, [Self.retracted.fr])
            let shown = isJoined ? [Self.bothLanguages] : ["Mayor resigns | - []", "- | Flash : Le maire part []"]
            let withdrawal = "Retracted: Mayor resigns | Flash : Withdrawn: Le maire part [withdrawn] for the first"
            #expect(try desk.sent() == shown + [withdrawal])
        }
    }

    @Test func `a translation of a withdrawn story is not news`() async throws {
        let desk = try await Desk()
        try await desk.bring([Self.mayor.en], nil)
        try await desk.bring([Self.retracted.en], nil)
        try await desk.bring(nil, [Self.mayor.fr])
        #expect(try desk.sent() == ["Mayor resigns | - []", "Retracted: Mayor resigns | - [withdrawn] for the first"])
    }

    @Test func `a translation joins a message that is held, and both leave at their hour`() async throws {
        let desk = try await Desk("notBefore: 07:00")
        // 02:00 UTC.
        try await desk.bring([Self.mayor.en], nil, after: 5 * 3_600 + 33 * 60 + 20)
        desk.room.site.set("/fr", FakeSite.Document(body: FakeSite.rss([Self.mayor.fr])))
        desk.room.advance(60)
        let preview = try await desk.room.preview(desk.lists)
        let morning = Date(timeIntervalSince1970: 1_780_038_000)
        #expect(preview.feeds[1].entries.map(\.fate) == [.held(until: morning)])
        #expect(preview.feeds[1].entries.map(\.translationOf) == ["Mayor resigns"])
        let report = try await desk.room.pass(desk.lists)
        #expect(report.announced == 1 && report.recorded == 0 && report.pending == 1)
        try await desk.bring(nil, nil, after: 5 * 3_600)
        #expect(try desk.sent() == [Self.bothLanguages])
    }

    struct Waiting: CustomTestStringConvertible {
        let testDescription: String
        let english: FakeSite.Item
        let french: FakeSite.Item
        let expected: [String]
    }

    static let waiting: [Waiting] = [
        Waiting(
            testDescription: "English is corrected",
            english: corrected.en,
            french: mayor.fr,
            expected: ["- | Flash : Le maire part []", "Correction: Mayor stays | - []"]
        ),
        Waiting(
            testDescription: "French is corrected",
            english: mayor.en,
            french: corrected.fr,
            expected: ["Mayor resigns | - []", "- | Flash : Correctif : Le maire reste []"]
        ),
        Waiting(
            testDescription: "French is taken back",
            english: mayor.en,
            french: retracted.fr,
            expected: ["Mayor resigns | - []"]
        ),
        Waiting(testDescription: "English is taken back", english: retracted.en, french: mayor.fr, expected: []),
    ]

    @Test(arguments: waiting)
    func `what waits in several languages loses the one that speaks again`(change: Waiting) async throws {
        let desk = try await Desk("notBefore: 07:00")
        try await desk.bring([Self.mayor.en], [Self.mayor.fr], after: 5 * 3_600 + 33 * 60 + 20)
        #expect(try desk.room.store().pending().count == 1)
        try await desk.bring([change.english], [change.french])
        try await desk.bring(nil, nil, after: 5 * 3_600)
        #expect(try desk.sent() == change.expected)
    }

    @Test func `a correction that waits takes no translation`() async throws {
        let desk = try await Desk()
        try await desk.bring([Self.mayor.en], [])
        desk.room.hub.answer { _ in 503 }
        try await desk.bring([Self.mayor.en, Item("Zero", id: "0", link: "https://news.example/en/0")], nil)
        try await desk.bring([Self.corrected.en], nil)
        try await desk.bring(nil, [Self.mayor.fr])
        desk.room.hub.answer { _ in 201 }
        try await desk.bring(nil, nil)
        #expect(
            try desk.sent() == [
                "Mayor resigns | - []", "Zero | - [] other", "Correction: Mayor stays | - [correction] for the first",
                "- | Flash : Le maire part []",
            ]
        )
    }

    // MARK: Alerts

    private func alert(_ number: Int, _ title: String, _ type: String = "Alert", _ reference: Int? = nil) -> String {
        func sent(_ number: Int) -> String { "2026-05-28T10:0\(number):00Z" }
        let references = reference.map { "met@weather.example,w\($0),\(sent($0))" } ?? ""
        return """
            <entry><id>urn:\(number)</id><title>\(title)</title><link href="https://weather.example/\(title.hash)"/>
            <cap:identifier>w\(number)</cap:identifier><cap:sender>met@weather.example</cap:sender>
            <cap:sent>\(sent(number))</cap:sent><cap:status>Actual</cap:status><cap:msgType>\(type)</cap:msgType>
            <cap:scope>Public</cap:scope><cap:references>\(references)</cap:references><cap:event>Flood</cap:event>
            </entry>
            """
    }

    private func bring(_ desk: Desk, _ english: [String], _ french: [String]) async throws {
        for (path, alerts) in [("/en", english), ("/fr", french)] {
            let head = #"<feed xmlns="http://www.w3.org/2005/Atom" xmlns:cap="urn:oasis:names:tc:emergency:cap:1.2">"#
            let body = "\(head)<title>W</title>\(alerts.joined())</feed>"
            desk.room.site.set(path, FakeSite.Document(body: body))
        }
        desk.room.advance(60)
        try await desk.room.pass(desk.lists)
    }

    @Test func `an alert in two languages is one message, and its updates and its end are announced`() async throws {
        let desk = try await Desk()
        let flood = (en: alert(1, "Flood"), fr: alert(1, "Crue"))
        try await bring(desk, [flood.en], [flood.fr])
        let worse = (en: alert(2, "Flood rises", "Update", 1), fr: alert(2, "La crue monte", "Update", 1))
        try await bring(desk, [worse.en, flood.en], [worse.fr, flood.fr])
        let over = (en: alert(3, "No flood", "Cancel", 2), fr: alert(3, "Fin de crue", "Cancel", 2))
        try await bring(desk, [over.en, worse.en], [worse.fr])
        try await bring(desk, [over.en, worse.en], [over.fr, worse.fr])
        let sent = try desk.sent()
        #expect(sent.first == "Flood | Flash : Crue []")
        #expect(
            sent.dropFirst().dropLast().sorted() == [
                "- | Flash : La crue monte [update] for the first", "Flood rises | - [update] for the first",
            ]
        )
        #expect(
            sent.last == "Cancelled: Flood rises | Flash : Cancelled: La crue monte [withdrawn] for the first"
        )
        #expect(sent.count == 4)
    }
}
