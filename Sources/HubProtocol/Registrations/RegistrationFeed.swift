package import FoundationEssentials

/// A page of registrations: the reply of a list.
///
/// Source: protocol §3.3, §3.4.
package struct RegistrationFeed: Sendable {
    package let registrations: [Registration]
    package let address: RequestAddress
    /// The address of all registrations: each one's own address is below it, also in the list of a tag.
    package let items: RequestAddress
    /// The beginning of the next page; `nil` on the last one.
    package let next: ContinuationToken?

    package init(
        registrations: [Registration],
        address: RequestAddress,
        items: RequestAddress,
        next: ContinuationToken?
    ) {
        self.registrations = registrations
        self.address = address
        self.items = items
        self.next = next
    }

    /// The reply's body, at the time of the reply.
    package func encoded(date: Date) -> [UInt8] {
        let date = ISODateTime.formatSeconds(date)
        let url = address.url
        var output = XMLOutput(reserving: 512 + registrations.count * (1_536 + 2 * address.query.utf8.count))
        output.raw("<feed xmlns=\"\(AtomNames.atom)\"><title type=\"text\">Registrations</title>")
        output.element("id", url)
        output.element("updated", date)
        AtomWriter.appendLink("self", url, to: &output)
        if let next { AtomWriter.appendLink("next", address.page(next), to: &output) }
        for registration in registrations {
            let item = items.item(registration.id)
            AtomWriter.append(registration, at: item, date: date, isRoot: false, to: &output)
        }
        output.raw("</feed>")
        return output.bytes
    }
}
