import HubProtocol
import Testing

@testable import WebPages

/// The words of an overview, as pages and the terminal show them.
struct ReportWordsTests {
    private static let start = "2026-11-29T10:00:00Z"

    private static func overview() -> HubOverview {
        var overview = HubOverview(
            hub: "news",
            startedAt: start,
            log: HubOverview.Log(bytes: 3 << 20, limitBytes: 1 << 30, oldest: nil, droppedUnexpired: 0)
        )
        overview.version = "1.2.3"
        return overview
    }

    private static func values(_ overview: HubOverview, _ words: ReportWords = .terminal) -> [String: String] {
        let facts = words.sections(overview, at: 0).flatMap(\.facts)
        return Dictionary(uniqueKeysWithValues: facts.map { ($0.name, $0.value) })
    }

    @Test func `an overview names the hub, and its times are the reader's`() {
        let values = Self.values(Self.overview())
        #expect(values["Name"] == "news" && values["Version"] == "1.2.3")
        #expect(values["Started"] == Self.start)
        #expect(values["Log"] == "3 MiB of 1024 MiB")
        #expect(Self.values(Self.overview(), .page)["Started"] == "2026-11-29 10:00:00 UTC")
    }

    @Test func `alarms of a hub that does not report them are not said to be none`() {
        var overview = Self.overview()
        #expect(Self.values(overview)["Active alarms"] == "not reported")
        #expect(Self.values(overview)["Silenced"] == nil)
        overview.alarms = [:]
        #expect(Self.values(overview)["Active alarms"] == "none" && Self.values(overview)["Silenced"] == "0")
    }

    @Test(arguments: [(nil, true), (2, true), (3, false)] as [(Int?, Bool)])
    func `alarms are counted by kind, and bad unless all are silenced`(silenced: Int?, isBad: Bool) {
        var overview = Self.overview()
        overview.alarms = ["missingReplicas": 1, "absentAgent": 2]
        overview.silencedAlarms = silenced
        let facts = ReportWords.terminal.sections(overview, at: 0).flatMap(\.facts)
        let active = facts.first { $0.name == "Active alarms" }
        #expect(active?.value == "2 absentAgent, 1 missingReplicas")
        #expect(active?.isBad == isBad)
    }

    @Test func `a hub that cannot write says why`() {
        var overview = Self.overview()
        #expect(Self.values(overview)["Writer"] == nil)
        overview.failure = "the disk is full"
        #expect(Self.values(overview)["Writer"] == "cannot write or follow: the disk is full")
    }
}
