import HubProtocol

/// The key that a request or a stream was allowed with.
struct Credential: Sendable, Hashable {
    let rule: String
    let key: String
}

/// What the sender of a request may do.
struct Grant: Sendable {
    let rights: AccessRights
    let credential: Credential

    var mayManage: Bool { rights.grants(.manage) }
}

/// Checks a token against a hub's rules (protocol document §1.4).
///
/// - Parameters:
///   - header: The `Authorization` header, `nil` without one.
///   - path: The request's path.
///   - right: What the route needs.
///   - rules: The addressed hub's.
///   - now: Seconds since 1970.
/// - Returns: What the token allows, and by which key.
/// - Throws: 401 with the reason: missing, malformed, expired, bad signature, wrong audience, or lacking the right.
func authorize(
    _ header: String?,
    path: String,
    needs right: AccessRights,
    rules: [AccessRule],
    now: Int64
) throws(ProtocolError) -> Grant {
    guard let header, !header.isEmpty else { throw .unauthorized(.missingToken) }
    let token = try SharedAccessToken(parsing: header)
    guard let rule = rules.first(where: { $0.name == token.keyName }) else { throw .unauthorized(.invalidSignature) }
    guard let key = [rule.primaryKey, rule.secondaryKey].first(where: { token.isSigned(with: $0) }) else {
        throw .unauthorized(.invalidSignature)
    }
    guard !token.isExpired(at: now) else { throw .unauthorized(.expiredToken) }
    guard token.covers(path: path) else { throw .unauthorized(.invalidAudience) }
    guard rule.rights.grants(right) else { throw .unauthorized(.claimRequired(right)) }
    return Grant(rights: rule.rights, credential: Credential(rule: rule.name, key: key))
}
