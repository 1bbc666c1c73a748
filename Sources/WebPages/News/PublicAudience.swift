package import HubProtocol

/// Decides whether a message is among the news of a tag.
package enum PublicAudience {
    /// True if a device whose only tag is `tag` matches the message, and no person or device is named in its expression.
    ///
    /// An expression with a reserved or a server-assigned tag is about somebody, negated or not, and nobody else's business.
    /// `tags` is the message's tag expression, and `nil` for a broadcast, which is for everybody.
    package static func includes(_ tag: Tag, tags: String?, reserved: ReservedTagPrefixes) -> Bool {
        guard isPublic(tag, reserved) else { return false }
        guard let tags else { return true }
        guard let expression = try? TagExpression(parsing: tags, limits: .stored),
            expression.tags.allSatisfy({ isPublic($0, reserved) })
        else { return false }
        return expression.matches { $0 == tag }
    }

    /// True if the tag says nothing about who has it.
    package static func isPublic(_ tag: Tag, _ reserved: ReservedTagPrefixes) -> Bool {
        !tag.isServerAssigned && !reserved.contains(tag)
    }
}
