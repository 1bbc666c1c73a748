import FeedLists
import FeedPublisher
import Foundation
import HostSystem
import HubProtocol

/// Prints a preview of a pass: each feed with its entries, then the messages.
enum PreviewOutput {
    static func print(_ preview: PublishPreview, asJSON: Bool) throws {
        if asJSON {
            let feeds = preview.feeds.map(FeedRow.init)
            return Console.print(try JSON.line(Document(feeds: feeds, messages: preview.messages)))
        }
        for feed in preview.feeds {
            Console.print("\(feed.category)  \(TerminalText.safe(feed.address.display))  \(state(of: feed))")
            for entry in feed.entries {
                let problem = entry.dateProblem.map { " (\($0.text))" } ?? ""
                let what = TerminalText.safe(fate(of: entry, preview.messages))
                Console.print("  \(TerminalText.safe(entry.title)): \(what)\(problem)")
            }
        }
        for message in preview.messages {
            let reach = message.recipients.map { "to \($0)" } ?? "to an unknown number"
            let languages = message.languages.isEmpty ? "" : ", in \(message.languages.joined(separator: ", "))"
            let line = "send  \(message.tags): \(message.text.isEmpty ? message.title : message.text)"
            Console.print("\(TerminalText.safe(line)) (\(message.bytes) bytes, \(reach)\(languages))")
        }
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

    fileprivate static func text(_ reason: NotAsked) -> String {
        switch reason {
        case .notDue(let until): "not due until \(ISODateTime.formatSeconds(until)); --force polls it anyway"
        case .hostQuiet(let until): "its host asks for no requests until \(ISODateTime.formatSeconds(until))"
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

    fileprivate struct Document: Encodable {
        let feeds: [FeedRow]
        let messages: [MessagePreview]
    }

    fileprivate struct FeedRow: Encodable {
        let category: String
        let url: String
        let title: String?
        let state: String
        let reason: String?
        let entries: [EntryRow]
    }

    fileprivate struct EntryRow: Encodable {
        let title: String
        let link: String?
        let date: Date?
        let fate: String
        let reason: String?
        let reasonText: String?
        let sameStory: String?
        let translationOf: String?
        let message: Int?
        let dateTrouble: String?
    }
}

extension PreviewOutput.FeedRow {
    fileprivate init(_ feed: FeedPreview) {
        let (state, reason): (String, String?) =
            switch feed.state {
            case .read: ("read", nil)
            case .failed(let line): ("failed", Failure.joined(line.text, line.hint))
            case .skipped: ("skipped", nil)
            case .notAsked(let why): ("notAsked", PreviewOutput.text(why))
            }
        self.init(
            category: feed.category,
            url: feed.address.display,
            title: feed.title,
            state: state,
            reason: reason,
            entries: feed.entries.map(PreviewOutput.EntryRow.init)
        )
    }
}

extension PreviewOutput.EntryRow {
    fileprivate init(_ entry: EntryPreview) {
        var (fate, reason, text, story, message): (String, String?, String?, String?, Int?) = ("", nil, nil, nil, nil)
        switch entry.fate {
        case .message(let index): (fate, message) = ("message", index)
        case .digest(let why, let index): (fate, reason, text, message) = ("digest", why.name, why.text, index)
        case .silent(let why, let other): (fate, reason, text, story) = ("silent", why.name, why.text, other)
        case .held(let hour): (fate, text) = ("held", AnnouncementState.held(until: hour).text)
        case .waiting: fate = "waiting"
        }
        self.init(
            title: entry.title,
            link: entry.link,
            date: entry.date,
            fate: fate,
            reason: reason,
            reasonText: text,
            sameStory: story,
            translationOf: entry.translationOf,
            message: message,
            dateTrouble: entry.dateProblem?.rawValue
        )
    }
}
