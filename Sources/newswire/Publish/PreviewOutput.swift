import FeedLists
import FeedPublisher
import Foundation
import HostSystem
import HubProtocol

/// Prints a preview of a pass: each feed with its entries, then the messages.
enum PreviewOutput {
    static func print(_ preview: PublishPreview, asJSON: Bool) throws {
        let document = Document(feeds: preview.feeds.map(FeedRow.init), messages: preview.messages)
        let feeds = preview.feeds.flatMap { feed in
            [[feed.category, feed.address.display, state(of: feed)]]
                + feed.entries.map { entry in
                    let problem = entry.dateProblem.map { " (\($0.text))" } ?? ""
                    return ["  \(entry.title): \(fate(of: entry, preview.messages))\(problem)"]
                }
        }
        try Console.show(document, asJSON: asJSON, .rows(feeds + preview.messages.map(row)))
    }

    private static func row(_ message: MessagePreview) -> [String?] {
        let reach = message.recipients.map { "to \($0)" } ?? "to an unknown number"
        let languages = message.languages.isEmpty ? "" : ", in \(message.languages.joined(separator: ", "))"
        let text = message.text.isEmpty ? message.title : message.text
        return ["send", "\(message.tags): \(text) (\(message.bytes) bytes, \(reach)\(languages))"]
    }

    private static func state(of feed: FeedPreview) -> String {
        switch feed.state {
        case .read:
            let silent = feed.entries.count { if case .silent = $0.fate { true } else { false } }
            return
                "\(Counted.text(feed.entries.count, "entry", "entries")), \(feed.entries.count - silent) to be announced"
        case .failed: return "could not be read"
        case .skipped: return "not polled: the pass ended before its turn"
        case .notAsked(let reason): return "not polled: \(Self.text(reason))"
        }
    }

    private static func text(_ reason: NotAsked) -> String {
        switch reason {
        case .notDue(let until): "not due until \(ISODateTime.formatSeconds(until)); --force polls it anyway"
        case .hostQuiet(let until): "its host asks for no requests until \(ISODateTime.formatSeconds(until))"
        case .paused(let since): "it has been paused since \(ISODateTime.formatSeconds(since))"
        case .gone(let since): "it has been gone (410) since \(ISODateTime.formatSeconds(since))"
        }
    }

    private static func fate(of entry: EntryPreview, _ messages: [MessagePreview]) -> String {
        let translation = entry.translationOf.map { ", as a translation of '\($0)'" } ?? ""
        return switch entry.fate {
        case .message(let index): "sent to \(messages[index].tags)\(translation)"
        case .digest(let reason, _): "in a digest: \(reason.text)\(translation)"
        case .silent(let reason, let story): "not sent: \(reason.text)\(story.map { " ('\($0)')" } ?? "")"
        case .held(let hour): AnnouncementState.held(until: hour).text
        case .waiting: "not sent: the pass ended before its turn"
        }
    }

    // MARK: JSON

    private struct Document: Encodable {
        let feeds: [FeedRow]
        let messages: [MessagePreview]
    }

    private struct FeedRow: Encodable {
        let category: String
        let url: String
        let title: String?
        let state: String
        let reason: String?
        let entries: [EntryRow]

        init(_ feed: FeedPreview) {
            (category, url, title) = (feed.category, feed.address.display, feed.title)
            entries = feed.entries.map(EntryRow.init)
            switch feed.state {
            case .read: (state, reason) = ("read", nil)
            case .failed(let line): (state, reason) = ("failed", Failure.joined(line.text, line.hint))
            case .skipped: (state, reason) = ("skipped", nil)
            case .notAsked(let why): (state, reason) = ("notAsked", PreviewOutput.text(why))
            }
        }
    }

    private struct EntryRow: Encodable {
        let title: String
        let link: String?
        let date: Date?
        let fate: String
        private(set) var reason: String?
        private(set) var reasonText: String?
        private(set) var sameStory: String?
        let translationOf: String?
        private(set) var message: Int?
        let dateTrouble: String?

        init(_ entry: EntryPreview) {
            (title, link, date) = (entry.title, entry.link, entry.date)
            (translationOf, dateTrouble) = (entry.translationOf, entry.dateProblem?.rawValue)
            switch entry.fate {
            case .message(let index): (fate, message) = ("message", index)
            case .digest(let why, let index):
                (fate, reason, reasonText, message) = ("digest", why.name, why.text, index)
            case .silent(let why, let other):
                (fate, reason, reasonText, sameStory) = ("silent", why.name, why.text, other)
            case .held(let hour): (fate, reasonText) = ("held", AnnouncementState.held(until: hour).text)
            case .waiting: fate = "waiting"
            }
        }
    }
}
