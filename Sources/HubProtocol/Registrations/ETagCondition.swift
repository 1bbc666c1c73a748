import Formats

/// The condition that a request sets on the registration that it changes: its header `If-Match`.
///
/// Clients spell an entity tag in three ways; only the number counts (protocol §3.1).
package enum ETagCondition: Sendable, Equatable {
    /// No header: the registration may exist or not.
    case none
    /// `*`: the registration must exist.
    case exists
    /// One of the tags of the header; a tag that is not a number matches no registration.
    case etags([Int], given: String)

    /// Reads `*`, `"3"`, `W/"3"`, `3` and lists of them; an empty header counts as absent.
    package init(ifMatch header: String?) {
        let given = header.map { String($0.trimmed) } ?? ""
        guard !given.isEmpty else {
            self = .none
            return
        }
        let tags = given.split(separator: ",").map { Self.inner($0.trimmed) }
        self = tags.contains("*") ? .exists : .etags(tags.compactMap { Self.number($0) }, given: given)
    }

    /// - Parameter current: The tag of the stored registration; `nil` if there is none.
    /// - Throws: ``ProtocolError`` 404 if the header requires a registration and there is none, 412 for another tag.
    package func check(_ current: Int?) throws(ProtocolError) {
        switch (self, current) {
        case (.none, _), (.exists, .some): return
        case (.exists, nil), (.etags, nil):
            throw .notFound("there is no registration with this id, which If-Match requires")
        case (.etags(let tags, let given), let current?):
            guard !tags.contains(current) else { return }
            throw .preconditionFailed(
                "If-Match is \(given.excerpt), and the registration's ETag is W/\"\(current)\": it has been changed since; "
                    + "read it again, or send If-Match: *"
            )
        }
    }

    private static func inner(_ tag: Substring) -> Substring {
        let strong = tag.hasPrefix("W/") || tag.hasPrefix("w/") ? tag.dropFirst(2) : tag
        guard strong.utf8.count >= 2, strong.first == "\"", strong.last == "\"" else { return strong }
        return strong.dropFirst().dropLast()
    }

    /// Accepts digits only: no spelling has a sign.
    private static func number(_ text: Substring) -> Int? {
        text.isDigits ? Int(text) : nil
    }
}
