package import FoundationEssentials

extension Registration {
    /// The Atom entry that answers a write or a read.
    ///
    /// - Parameters:
    ///   - url: The registration's own address, which the reply also names: ``RequestAddress/url`` of a request to it,
    ///     ``RequestAddress/item(_:)`` where it was created.
    ///   - date: The time of the reply, which the service writes as both dates.
    /// - Returns: The reply's body.
    ///
    /// Source: protocol §3.3.
    package func entry(at url: String, date: Date) -> [UInt8] {
        var output = XMLOutput(reserving: 1_536)
        AtomWriter.append(self, at: url, date: ISODateTime.formatSeconds(date), isRoot: true, to: &output)
        return output.bytes
    }
}

/// The parts that entries and feeds have in common.
enum AtomWriter {
    /// With `isRoot` the entry has no feed around it, and names Atom's namespace in the service's order of attributes.
    static func append(
        _ registration: Registration,
        at url: String,
        date: String,
        isRoot: Bool,
        to output: inout XMLOutput
    ) {
        output.raw("<entry a:etag=\"")
        output.attribute(registration.entityTag)
        output.raw(isRoot ? rootNamespaces : namespaces)
        output.element("id", url)
        output.raw("<title type=\"text\">")
        output.raw(registration.id.text)
        output.raw("</title>")
        output.element("published", date)
        output.element("updated", date)
        appendLink("self", url, to: &output)
        // The .NET SDK reads the node directly after the tag, so there must be no space (§0.7).
        output.raw("<content type=\"application/xml\">")
        RegistrationWriter.append(registration, to: &output)
        output.raw("</content></entry>")
    }

    private static let namespaces = "\" xmlns:a=\"\(AtomNames.metadata)\">"
    private static let rootNamespaces = "\" xmlns=\"\(AtomNames.atom)\" xmlns:a=\"\(AtomNames.metadata)\">"

    static func appendLink(_ relation: String, _ url: String, to output: inout XMLOutput) {
        output.raw("<link rel=\"")
        output.raw(relation)
        output.raw("\" href=\"")
        output.attribute(url)
        output.raw("\"/>")
    }
}
