internal import FoundationEssentials
package import HubProtocol
import Mustache

/// A version of a story as pages show it.
package struct MessageView: Sendable, Equatable {
    /// The message's place in the log.
    var sequence = ""
    /// The name of its story; empty without one.
    var story = ""
    /// The name of the story's version; empty without one.
    var version = ""
    var category = ""
    /// The relation to earlier messages of its story, such as `Correction` in the page's language; empty for the first.
    var status = ""
    var title = ""
    /// The address of the story's page.
    var link: String?
    var text = ""
    /// The title before a correction or an update that has changed it.
    var former: String?
    /// The writer, or the outlet.
    var source: String?
    /// The address of its picture at the hub.
    package var image: String?
    /// The day, for the first message of a day in a list; in ISO 8601.
    var day: String?
    /// When the hub accepted it, in ISO 8601.
    var sent = ""
    /// The same time, for readers without scripts.
    var sentText = ""
    var isUrgent = false
    var isWithdrawn = false
    /// True if it arrived after the last visit.
    var isNew = false
    /// The tag of the language of title and text, if it is known.
    var lang: String?
    /// The id of a secure message; `nil` for other messages.
    var secure: String?

    /// A view without text, which the script fills.
    package static let blank = MessageView()
}

/// Returns members by name: a page has fifty views, and reflection would take most of the time to render them.
extension MessageView: MustacheParent {
    package func child(named name: String) -> Any? {
        switch name {
        case "sequence": sequence
        case "story": story
        case "version": version
        case "category": category
        case "status": status
        case "title": title
        case "link": link
        case "text": text
        case "former": former
        case "source": source
        case "image": image
        case "day": day
        case "sent": sent
        case "sentText": sentText
        case "isUrgent": isUrgent
        case "isWithdrawn": isWithdrawn
        case "isNew": isNew
        case "secure": secure
        case "lang": lang
        default: nil
        }
    }
}

extension MessageView {
    /// Shows a version as new if it came after `end`, the end of the log at the reader's last visit.
    package init(_ storyVersion: StoryVersion, newAfter end: LogSequence?, in words: PageWords = .english) {
        self.init(storyVersion, category: storyVersion.categories.joined(separator: ", "), newAfter: end, words)
    }

    /// Creates the view of a message that was sent to the reader by name.
    package init(personal storyVersion: StoryVersion, newAfter end: LogSequence?, in words: PageWords = .english) {
        self.init(storyVersion, category: words[.forYou], newAfter: end, words)
    }

    /// Creates the view of a secure message to the reader, whose text is at `link`.
    package init(
        secure id: Int64,
        sequence: LogSequence,
        at: Timestamp,
        link: String,
        newAfter end: LogSequence?,
        in words: PageWords = .english
    ) {
        self.init(
            sequence: "\(sequence)",
            category: words[.forYou],
            title: words[.secureMessage],
            link: link,
            sent: at.wholeSecond,
            sentText: Self.text(at),
            isNew: end.map { sequence > $0 } ?? false,
            secure: "\(id)"
        )
    }

    private init(_ storyVersion: StoryVersion, category: String, newAfter end: LogSequence?, _ words: PageWords) {
        self.init(
            sequence: "\(storyVersion.sequence)",
            story: storyVersion.storyName,
            version: storyVersion.versionName,
            category: category,
            status: storyVersion.status.map { words[$0.word] } ?? "",
            title: storyVersion.text.title,
            link: storyVersion.text.link,
            text: storyVersion.text.text ?? "",
            former: storyVersion.formerTitle,
            source: storyVersion.text.author,
            sent: storyVersion.at.wholeSecond,
            sentText: Self.text(storyVersion.at),
            isUrgent: storyVersion.isUrgent,
            isWithdrawn: storyVersion.isWithdrawal,
            isNew: end.map { storyVersion.sequence > $0 } ?? false,
            lang: storyVersion.text.language.flatMap { LanguageLabel($0).code }
        )
    }

    private static func text(_ at: Timestamp) -> String {
        let time = at.wholeSecond
        return "\(time.prefix(10)) \(time.dropFirst(11).prefix(5)) UTC"
    }
}

extension [MessageView] {
    /// Returns the messages, of which the first one of each day (in UTC) has its day.
    func markingDays() -> [MessageView] {
        var last = ""
        return map { message in
            var message = message
            let day = String(message.sent.prefix(10))
            if day != last { message.day = day }
            last = day
            return message
        }
    }
}

extension MessageStatus {
    fileprivate var word: PageWord {
        switch self {
        case .update: .update
        case .correction: .correction
        case .withdrawn: .withdrawn
        }
    }
}
