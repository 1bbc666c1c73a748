import Feeds
import Foundation
import HostSystem
import HubProtocol

/// The text output of `newswire feeds check`: the feed, its errors, then its entries.
enum FeedCheckText {
    /// Maximum characters of a summary.
    private static let summaryLimit = 160

    static func print(_ feed: Feed, of document: String, now: Date) {
        line("\(document): \(feed.format), \(Counted.text(feed.entries.count, "entry", "entries"))")
        field("title", feed.title)
        field("link", feed.link)
        field("language", feed.language)
        field("self", feed.selfURL)
        field("hub", feed.hubs.isEmpty ? nil : feed.hubs.joined(separator: " "))
        field("ttl", feed.ttl.map { Counted.text($0, "minute") })
        for finding in feed.findings(now: now) { line("  wrong      \(finding)") }
        for (number, entry) in feed.entries.enumerated() { show(entry, number: number + 1) }
    }

    private static func show(_ entry: Entry, number: Int) {
        line("\(number). \(entry.title ?? "(no title)")")
        field("date", date(of: entry))
        field("id", entry.id)
        field("link", entry.link)
        field("summary", entry.summary(limit: summaryLimit))
        field("author", entry.author)
        field("categories", entry.categories.isEmpty ? nil : entry.categories.joined(separator: ", "))
        for file in entry.enclosures {
            let length = file.length.map { Counted.text($0, "byte") }
            field("enclosure", [file.url, file.type, length].compactMap(\.self).joined(separator: " "))
        }
        field("image", entry.image)
        field("place", entry.point.map { "\($0.latitude) \($0.longitude)" })
        if let alert = entry.alert { show(alert) }
    }

    private static func date(of entry: Entry) -> String? {
        let published = entry.published.map { ISODateTime.formatSeconds($0) }
        let updated = entry.updated.map { "updated \(ISODateTime.formatSeconds($0))" }
        let parts = [published, updated].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func show(_ alert: Alert) {
        let kind = [alert.messageType, alert.status, alert.scope].compactMap(\.self)
        field("alert", kind.isEmpty ? nil : kind.joined(separator: ", "))
        field("replaces", alert.replaces.isEmpty ? nil : alert.replaces.joined(separator: " "))
        for info in alert.info {
            let words = [info.language, info.event, info.severity, info.urgency, info.certainty].compactMap(\.self)
            let expires = info.expires.map { "expires \(ISODateTime.formatSeconds($0))" }
            field("warning", (words + [expires].compactMap(\.self)).joined(separator: ", "))
            field("areas", info.areas.isEmpty ? nil : info.areas.joined(separator: "; "))
        }
    }

    private static func field(_ name: String, _ value: String?) {
        guard let value, !value.isEmpty else { return }
        line("  \(name.padding(toLength: 10, withPad: " ", startingAt: 0)) \(value)")
    }

    private static func line(_ text: String) { Console.print(TerminalText.safe(text)) }
}
