import Markup

/// The registrations in a reply of our hub or another: one in an entry, a page of them in a feed.
///
/// Source: protocol §3.3, §3.4.
package struct RegistrationAnswer: Sendable {
    package let registrations: [Registration]
    /// The other entries, which cannot be read, with the reasons: a hub may know kinds that we do not.
    package let problems: [String]

    /// A page of a hub in this process.
    package init(_ registrations: [Registration]) {
        self.registrations = registrations
        problems = []
    }

    /// - Throws: ``ProtocolError`` 400 for a body that is neither an entry nor a feed.
    package init(_ body: [UInt8]) throws(ProtocolError) {
        let root = try Registration.root(of: body)
        guard root.name == AtomNames.entry || root.name == AtomNames.feed else {
            throw .badRequest("'\(root.localName.excerpt)' is neither an Atom entry nor a feed")
        }
        var (registrations, problems): ([Registration], [String]) = ([], [])
        for entry in root.name == AtomNames.entry ? [root] : root.all(AtomNames.entry) {
            do throws(ProtocolError) {
                registrations.append(try Registration(answered: entry))
            } catch {
                problems.append(
                    "\(entry.first(AtomNames.title)?.text.excerpt ?? "one without a title"): \(error.detail)"
                )
            }
        }
        self.registrations = registrations
        self.problems = problems
    }
}

extension Registration {
    /// The registration as a client reads it in an answer, in which the name of a template is one of the tags.
    package var answered: Registration {
        var answered = self
        if let listedName { answered.tags.append(Tag(valid: listedName)) }
        answered.listedName = nil
        return answered
    }
}
