import Formats

/// An Atom entry about a hub or a job, as the service writes it: one line, nothing between `content` and the description,
/// since .NET reads the node directly after the tag (protocol §0).
package struct ManagementEntry: Sendable, Equatable {
    package static let contentType = "application/atom+xml; type=entry; charset=utf-8"

    /// The address of the resource, with its query; also its link.
    let address: String
    let title: String
    let publishedAt: Timestamp
    let updatedAt: Timestamp
    /// The author; `nil` if the service names none.
    let author: String?
    /// The description element.
    let content: String

    package var xml: String {
        let link = XMLText.escapedAttribute(address)
        let author = author.map { "<author><name>\(XMLText.escaped($0))</name></author>" } ?? ""
        return "<entry xmlns=\"\(AtomNames.atom)\"><id>\(XMLText.escaped(address))</id>"
            + "<title type=\"text\">\(XMLText.escaped(title))</title>"
            + "<published>\(publishedAt.wholeSecond)</published>"
            + "<updated>\(updatedAt.wholeSecond)</updated>"
            + "\(author)<link rel=\"self\" href=\"\(link)\"/>"
            + "<content type=\"application/xml\">\(content)</content></entry>"
    }
}

/// A list of entries.
package struct ManagementFeed: Sendable, Equatable {
    package static let contentType = "application/atom+xml; type=feed; charset=utf-8"

    package let title: String
    /// The requested address, with its query.
    package let address: String
    package let updatedAt: Timestamp
    package let entries: [ManagementEntry]

    package init(title: String, address: String, updatedAt: Timestamp, entries: [ManagementEntry]) {
        self.title = title
        self.address = address
        self.updatedAt = updatedAt
        self.entries = entries
    }

    package var xml: String {
        "<feed xmlns=\"\(AtomNames.atom)\"><title type=\"text\">\(XMLText.escaped(title))</title>"
            + "<id>\(XMLText.escaped(address))</id><updated>\(updatedAt.wholeSecond)</updated>"
            + "<link rel=\"self\" href=\"\(XMLText.escapedAttribute(address))\"/>"
            + entries.map(\.xml).joined() + "</feed>"
    }
}

/// The reply of a namespace's root: the names and addresses of its hubs.
///
/// .NET reads the titles and requests each hub (protocol §8). The links' `http` and the generator are the service's
/// own.
package struct PublicServiceList: Sendable, Equatable {
    package static let contentType = ManagementFeed.contentType

    /// The host, with its port if it has one.
    package let host: String
    package let hubs: [HubName]
    package let at: Timestamp

    package init(host: String, hubs: [HubName], at: Timestamp) {
        self.host = host
        self.hubs = hubs
        self.at = at
    }

    package var xml: String {
        let updated = "<updated>\(at.wholeSecond)</updated>"
        let entries = hubs.map { hub in
            "<entry><id>\(XMLText.escaped("https://\(host)/\(hub)"))</id>"
                + "<title type=\"text\">\(XMLText.escaped(hub.text))</title>\(updated)<link rel=\"alternate\" "
                + "href=\"\(XMLText.escapedAttribute("http://\(host)/\(hub)"))\"/></entry>"
        }
        return "<feed xmlns=\"\(AtomNames.atom)\">"
            + "<title type=\"text\">Publicly Listed Services</title>"
            + "<subtitle type=\"text\">This is the list of publicly-listed services currently available.</subtitle>"
            + "<id>\(XMLText.escaped("https://\(host)/"))</id>\(updated)<generator>Service Bus 1.1</generator>"
            + entries.joined() + "</feed>"
    }
}

extension Timestamp {
    /// The service's form in descriptions: `2020-07-02T18:03:10.772Z`, without zeros at the end of the fraction.
    var precise: String {
        let fraction = milliseconds - seconds * 1_000
        guard fraction != 0 else { return wholeSecond }
        var digits = CivilTime.padded(Int(fraction), 3)
        while digits.last == "0" { digits.removeLast() }
        return wholeSecond.dropLast() + ".\(digits)Z"
    }
}
