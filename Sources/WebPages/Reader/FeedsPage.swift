internal import FoundationEssentials
package import HubProtocol

/// The addresses of feeds, for feed readers.
package struct FeedsPage: WebPage {
    /// Who may read the hub's feeds.
    package enum Access: Sendable {
        /// Everybody who sees the page.
        case open
        /// Whoever has an address with a secret; the reader can create some.
        case invited
        /// Whoever has an address with a secret, which only the operator can give to a reader without an invitation.
        case accountOnly
    }

    package struct Link: Sendable {
        let name: String
        let address: String

        package init(name: String, address: String) {
            self.name = name
            self.address = address
        }
    }

    /// An address that the reader has created; its secret is not known any more.
    package struct Address: Sendable {
        let id: String
        /// Days in ISO 8601.
        let created: String
        let used: String

        package init(id: String, createdAt: Timestamp, usedAt: Timestamp) {
            self.id = id
            created = ISODateTime.formatDay(createdAt.date)
            used = ISODateTime.formatDay(usedAt.date)
        }
    }

    package let template = "feeds"
    package let frame: PageFrame
    package var title: String { "\(frame.words[.feeds]) – \(frame.name)" }
    let links: [Link]
    let hasLinks: Bool
    let addresses: [Address]
    let hasAddresses: Bool
    let isInvited: Bool
    let isAccountOnly: Bool
    /// True if the page shows an address that was just created.
    package var isNew = false
    package var refusal: String?

    package init(frame: PageFrame, links: [Link], addresses: [Address], access: Access) {
        self.frame = frame
        self.links = links
        hasLinks = !links.isEmpty
        self.addresses = addresses
        hasAddresses = !addresses.isEmpty
        isInvited = access == .invited
        isAccountOnly = access == .accountOnly
    }
}
