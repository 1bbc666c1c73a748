import Formats

/// A request of an operator to a publisher: the body of our own route `POST /{hub}/publishers/{publisher}/requests`.
package struct PublisherRequest: Sendable, Equatable, Codable {
    package enum Action: String, Sendable, CaseIterable {
        /// Poll a feed now.
        case poll
        /// Leave a feed out until it is resumed.
        case pause
        case resume
        /// Add a feed to the list of a category, after a check.
        case add
        /// Remove a feed from the list of a category.
        case remove

        /// True if it changes a list.
        package var isEdit: Bool { self == .add || self == .remove }
    }

    /// Maximum number of requests that the hub keeps for each publisher, the newest ones.
    package static let maximumCount = 50

    /// Assigned by the hub; absent in a request that it does not have yet.
    package var number: Int64?
    package var askedAt: String?
    /// An ``Action``; later versions may have others.
    package let action: String
    /// The feed's address as the publisher reports it; for a feed to add, that of the feed or of its page.
    package let url: String
    /// The list; absent for what concerns a feed in all lists.
    package var category: String?
    /// The result, one line for people; absent until the publisher reports it.
    package var outcome: String?

    package init(_ action: Action, url: String, category: String? = nil) {
        (self.action, self.url, self.category) = (action.rawValue, url, category)
    }

    package init(number: Int64, askedAt: String, action: String, url: String, category: String?, outcome: String?) {
        (self.number, self.askedAt, self.action) = (number, askedAt, action)
        (self.url, self.category, self.outcome) = (url, category, outcome)
    }

    /// Maximum size of a request in bytes.
    package static let maximumBytes = 8 << 10
}

extension PublisherRequest {
    /// Reads and checks a request of an operator.
    ///
    /// - Throws: ``ProtocolError`` 400 with the problem.
    package init(json: [UInt8]) throws(ProtocolError) {
        guard let read = try? JSONReader.decode(PublisherRequest.self, from: json) else {
            throw .badRequest("The body must be a JSON object with 'action' and 'url'.")
        }
        guard let action = Action(rawValue: read.action) else {
            let actions = Action.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("'\(read.action.excerpt)' is not an action; actions are \(actions).")
        }
        for text in [read.url] + [read.category].compactMap(\.self) {
            guard !text.isEmpty, text.utf8.count <= PublisherReport.maximumText, text.isLine else {
                throw .badRequest(
                    "'url' and 'category' must be one line of 1 to \(PublisherReport.maximumText) bytes."
                )
            }
        }
        guard !action.isEdit || read.category != nil else {
            throw .badRequest("The action '\(action.rawValue)' needs a 'category'.")
        }
        self.init(action, url: read.url, category: read.category)
    }
}

/// The requests that a hub keeps for a publisher, oldest first: the answer of our own route
/// `GET /{hub}/publishers/{publisher}/requests`.
package struct PublisherRequests: Sendable, Equatable, Codable {
    package let requests: [PublisherRequest]

    package init(requests: [PublisherRequest]) { self.requests = requests }
}
