import FoundationEssentials
import HubProtocol
import Testing

@testable import FeedLists
@testable import FeedPublisher
@testable import Feeds

@Suite struct AlertTextTests {
    private func info(
        _ headline: String,
        _ language: String? = nil,
        severity: String = "Moderate",
        urgency: String = "Expected"
    ) -> Alert.Info {
        var info = Alert.Info()
        (info.headline, info.language, info.severity, info.urgency) = (headline, language, severity, urgency)
        info.description = "\(headline)."
        return info
    }

    private func entry(_ parts: Alert.Info...) -> Entry {
        var entry = Entry()
        var alert = Alert()
        alert.info = parts
        entry.alert = alert
        entry.title = parts[0].headline
        return entry
    }

    @Test func `an alert is announced in the list's language, else in English, else in its first`() throws {
        let alert = entry(info("Sturm", "de-DE"), info("Gale", "en-GB"), info("Tempête", "fr"))
        let french = try LanguageName("French")
        #expect(LanguageCodes.code(of: french) == "fr")
        #expect(LanguageCodes.code(of: try LanguageName("Deutsch")) == "de")
        #expect(alert.localized(in: LanguageCodes.code(of: french)).title == "Tempête")
        #expect(alert.localized(in: "de").title == "Sturm")
        #expect(alert.localized(in: "it").title == "Gale")
        #expect(entry(info("Sturm", "de"), info("Tempête", "fr")).localized(in: nil).title == "Sturm")
    }

    @Test func `of several events the most severe is announced, with its own text`() {
        let alert = entry(info("Rain"), info("Thunderstorm", severity: "Severe"), info("Fog", severity: "Minor"))
        #expect(alert.localized(in: "en").title == "Thunderstorm")
        #expect(alert.localized(in: "en").summary == "Thunderstorm.")
        let urgent = entry(info("Hail", severity: "Severe"), info("Flood", urgency: "Immediate"))
        #expect(urgent.localized(in: "en").title == "Flood")
    }

    @Test func `a title of the entry's own stays`() {
        var alert = entry(info("Sturm", "de"), info("Gale", "en"))
        alert.title = "Warnings for the coast"
        #expect(alert.localized(in: "en").title == "Warnings for the coast")
    }

    @Test(arguments: [
        "a@x,1,2026-01-01T00:00:00Z b@x,2,2026-01-01T00:00:00Z",
        "a@x,1,2026-01-01T00:00:00Z, b@x,2,2026-01-01T00:00:00Z",
        "a@x, 1, 2026-01-01T00:00:00Z,\n b@x, 2, 2026-01-01T00:00:00Z",
    ])
    func `references are read with blanks and commas between them`(text: String) {
        var alert = Alert()
        alert.references = text
        #expect(alert.replaces == ["a@x,1,2026-01-01T00:00:00Z", "b@x,2,2026-01-01T00:00:00Z"])
    }
}
