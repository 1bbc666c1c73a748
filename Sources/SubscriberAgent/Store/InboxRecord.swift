package import HubProtocol

/// One row of the inbox: what arrived, and what became of it.
package struct InboxRecord: Sendable, Equatable, Identifiable {
    package enum Kind: String, Sendable, Codable {
        case message
        /// The hub could not give everything that was owed.
        case gap
        /// An event that could not be read; kept, so that nothing the hub sent vanishes.
        case unreadable
    }

    package enum State: String, Sendable, Codable, CaseIterable {
        case pending
        /// A handler has it, or had it when the agent was stopped.
        case started
        case done
        case failed
        /// It had no text for this agent, and no handler was asked (``RenderedText``).
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
    /// Empty for a message of native format and for other kinds.
    package let template: String
    /// A JSON object as it came; for ``Kind/unreadable`` the start of the event's data.
    package let body: String
    package let content: MessageContent
    package let receivedAt: Timestamp
    package let state: State
    /// Number of times that a handler was started on it.
    package let attempts: Int
    /// Number of these starts that failed, as opposed to a stop of the agent.
    package let failures: Int
    /// Why it failed, or last failed, or was not shown.
    package let reason: String?
    /// `nil` while it stands.
    package var supersession: Supersession?

    /// One without text is another language's, and says nothing of what was shown here.
    package var standing: MessageStanding {
        kind == .message && state != .empty ? MessageStanding(body: body) : MessageStanding()
    }

    /// True if a handler may have worked on it before its newest start.
    package var isRedelivery: Bool { attempts > 1 }
}
