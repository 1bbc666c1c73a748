package import HubProtocol

/// Decides whether a message is part of a tag's public news.
package enum PublicAudience {
    /// True if a device whose only tag is `tag` matches the message, and the expression names no person or device.
    ///
    /// An expression with a reserved or server-assigned tag concerns a person or device, negated or not, and is not
    /// public. `tags` is the message's tag expression, and `nil` for a broadcast to everybody.
    package static func includes(_ tag: Tag, tags: String?, reserved: ReservedTagPrefixes) -> Bool {
        guard isPublic(tag, reserved) else { return false }
        guard let tags else { return true }
        return publicExpression(tags, reserved)?.matches { $0 == tag } ?? false
    }

    /// True if a message's tag expression, `nil` for a broadcast, names no person or device.
    package static func isPublic(tags: String?, reserved: ReservedTagPrefixes) -> Bool {
        tags.map { publicExpression($0, reserved) != nil } ?? true
    }

    private static func publicExpression(_ tags: String, _ reserved: ReservedTagPrefixes) -> TagExpression? {
        guard let expression = try? TagExpression(parsing: tags, limits: .stored),
            expression.tags.allSatisfy({ isPublic($0, reserved) })
        else { return nil }
        return expression
    }

    /// True if the tag does not reveal who has it.
    package static func isPublic(_ tag: Tag, _ reserved: ReservedTagPrefixes) -> Bool {
        !tag.isServerAssigned && !reserved.contains(tag)
    }
}
