package import HubProtocol

/// One row of the inbox: an event that arrived, and the outcome of its handling.
package struct InboxRecord: Sendable, Equatable, Identifiable {
    package enum Kind: String, Sendable, Codable {
        case message
        /// The hub could not deliver all pending messages.
        case gap
        /// An event that could not be read; kept, so that nothing the hub sent is lost.
        case unreadable
    }

    package enum State: String, Sendable, Codable, CaseIterable {
        case pending
        /// A handler is working on it, or was when the agent was stopped.
        case started
        case done
        case failed
        /// It had no text for this agent, and no handler was called (``RenderedText``).
        case empty
    }

    /// The effect of a later message of the same story in this inbox.
    package enum Supersession: String, Sendable, Codable, CaseIterable {
        case replaced, withdrawn
    }

    /// Order of arrival; never reused.
    package let ordinal: Int64
    package let kind: Kind
    /// The message's id at the hub; for other kinds a text that stays the same when the hub repeats the event.
    package let id: String
    /// The template; empty for a native message and for other kinds.
    package let template: String
    /// A JSON object as received; for ``Kind/unreadable`` the start of the event's data.
    package let body: String
    package let content: MessageContent
    package let receivedAt: Timestamp
    package let state: State
    /// Number of times that a handler was started on it.
    package let attempts: Int
    /// Number of these attempts that failed, as opposed to a stop of the agent.
    package let failures: Int
    /// The reason why it failed, or last failed, or was not shown.
    package let reason: String?
    /// The effect of a later message; `nil` if there is none.
    package var supersession: Supersession?
    /// The id of an earlier message that said the same to another category: the same version of the story.
    package var sameAs: String?

    /// The relation to other messages; none for a message without text, which is in another language and does not
    /// affect messages that were shown.
    package var relation: StoryRelation {
        kind == .message && state != .empty ? StoryRelation(body: body) : StoryRelation()
    }

    /// True if a handler may have worked on it before the current attempt.
    package var isRedelivery: Bool { attempts > 1 }
}
