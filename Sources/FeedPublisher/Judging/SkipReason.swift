internal import FeedLists
package import FoundationEssentials
internal import HubProtocol

/// The reason why an entry of a document is not announced.
package enum SkipReason: Sendable, Equatable {
    /// It was read before in this feed; known by the given mark.
    case seenBefore(SeenKind)
    /// It appears in this document a second time.
    case repeated
    /// It has neither an identifier nor a link, a title or a text.
    case blank
    /// The feed is read for the first time: its entries are only recorded, to avoid a flood.
    case firstReading
    /// All entries of the document have new identifiers, and this one is not newer than those read before.
    case newIdentifiers
    /// It is in a document of another site, which waits for the next poll.
    case foreign
    case draft
    /// It is clearly older than the newest known entry or than the first reading.
    case old
    /// It is an entry of the same second whose title and link were corrected.
    case retitled
    /// The feed announced the same title and text less than twelve hours ago.
    case `repeat`
    /// Another feed of the category announced it, under the same link or nearly the same title.
    case sameStory(SeenKind)
    /// It is announced in the message of another language's entry, as its translation.
    case translation
    /// It was read before, and has changed.
    case edited
    /// It has changed, and waits, because an update would follow the last one too soon.
    case updateLimit
    /// It contains a term that its list excludes.
    case excluded(String)
    /// It contains none of the terms that its list includes.
    case notIncluded
    /// It waits for its date.
    case held(until: Date)
    /// It is a warning that is a test or a draft, or for a closed group (CAP `status`, `scope`).
    case notForThePublic
    /// It is a warning of an event that has ended (CAP `expires`).
    case expired
    /// It is an alert that acknowledges or rejects another, for other systems (CAP `msgType` `Ack` and `Error`).
    case acknowledgement
    /// A later entry of the same document replaces or withdraws it.
    case superseded
    case withdrawn
    /// It withdraws a story that was never shown.
    case nothingToWithdraw

    /// The date for which the entry waits.
    var heldUntil: Date? {
        if case .held(let date) = self { date } else { nil }
    }

    /// A stable word, for programs.
    package var name: String { words.name }

    /// A text for people, after "not sent: ".
    package var text: String { words.text }

    private var words: (name: String, text: String) {
        switch self {
        case .seenBefore(let kind): ("seenBefore", "seen before" + Self.recognition(by: kind))
        case .repeated: ("repeated", "it appears twice in this document")
        case .blank: ("blank", "it has no id, link, title or text")
        case .firstReading: ("firstReading", "first reading of this feed: recorded, not announced")
        case .newIdentifiers:
            (
                "newIdentifiers",
                "the feed gave all its entries new ids, and this one is not newer than the last reading"
            )
        case .foreign: ("foreign", "the document is of another site; it waits for the next poll")
        case .draft: ("draft", "a draft, which is not recorded until it is published")
        case .old: ("old", "older than what this feed had at its last reading")
        case .retitled: ("retitled", "seen before, with another link and title; both were corrected")
        case .repeat:
            ("repeat", "the same title and text as a story that this feed announced less than twelve hours ago")
        case .sameStory(.title): ("sameStory", "nearly the same title as a story announced from another feed")
        case .sameStory: ("sameStory", "same story as one announced from another feed")
        case .translation: ("translation", "sent as a translation, in the message of another feed's entry")
        case .edited: ("edited", "seen before, and edited since; its list does not announce the change")
        case .updateLimit:
            (
                "updateLimit",
                "seen before, and edited since; it waits, because this feed announces updates once an hour"
            )
        case .excluded(let term): ("excluded", "its list excludes '\(term)'")
        case .notIncluded: ("notIncluded", "it contains none of the words that its list includes")
        case .held(let date): ("held", "held until \(ISODateTime.formatSeconds(date))")
        case .notForThePublic: ("notForThePublic", "the alert is a test, or not for the public")
        case .expired: ("expired", "the alert has expired")
        case .acknowledgement: ("acknowledgement", "the alert only answers another one")
        case .superseded: ("superseded", "a later entry of this document replaces or withdraws it")
        case .withdrawn: ("withdrawn", "its story was withdrawn")
        case .nothingToWithdraw: ("nothingToWithdraw", "it withdraws a story that was not sent")
        }
    }

    private static func recognition(by kind: SeenKind) -> String {
        switch kind {
        case .entry, .held: ""
        case .loose: ", under another spelling of its id"
        case .link: ", with the same link and another id"
        case .title: ", with the same title and date; the feed changes its ids"
        }
    }
}

extension KeywordFilter {
    /// Returns the reason to reject an entry; `nil` if the filter accepts it.
    func skipReason(for text: FilterText) -> SkipReason? {
        if let term = exclude.first(where: { $0.isIn(text) }) { return .excluded(term.text) }
        return include.isEmpty || include.contains { $0.isIn(text) } ? nil : .notIncluded
    }
}

/// An error in an entry's date.
package enum DateProblem: String, Sendable {
    /// Up to a day ahead of the clock: shown as now.
    case ahead
    /// Further ahead: not shown.
    case future
    /// So far ahead that it is a mistake, as with the year of another calendar: not shown.
    case calendar
    /// Before feeds existed: not shown.
    case ancient

    package var text: String {
        switch self {
        case .ahead: "future-dated by less than a day: shown as now"
        case .future: "future-dated: its date is left out"
        case .calendar: "dated more than five years ahead, as in another calendar: its date is left out"
        case .ancient: "dated before 1990: its date is left out"
        }
    }
}

/// The reason why a message goes into a digest.
package enum FoldReason: Sendable, Equatable {
    case overCap(Int)
    /// It waited longer than this.
    case tooOld(Duration)
    /// It is a digest that could not be sent, and joins the next one.
    case earlierDigest

    package var name: String { words.name }
    package var text: String { words.text }

    private var words: (name: String, text: String) {
        switch self {
        case .overCap(let cap): ("overCap", "over the cap of \(cap)")
        case .tooOld(let limit):
            ("tooOld", "too old: it waited for more than \(limit.components.seconds / 60) min")
        case .earlierDigest: ("earlierDigest", "a digest that could not be sent")
        }
    }
}
