import FuzzCheck

@testable import HubProtocol

/// Reads who a caller says to be: the first line is a path, the rest an `Authorization` value and a connection string.
///
/// What was signed with a key verifies with that key alone, and covers what stands below what it covers.
@_cdecl("LLVMFuzzerTestOneInput")
public func readAuthorization(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let (path, rest) = firstLine(start, count)
    readToken(rest, path)
    sign(resource: rest, path)
    readConnectionString(rest)
    return 0
}

private func readToken(_ header: String, _ path: String) {
    do throws(ProtocolError) {
        let token = try SharedAccessToken(parsing: header)
        check(header.utf8.count <= SharedAccessToken.maximumHeaderLength + 1_024, "\(header.utf8.count) bytes")
        check(!token.isSigned(with: "a key that nobody has"), header)
        check(token.isExpired(at: .max) || token.expiresAt >= .max - SharedAccessToken.allowedClockSkew, header)
        if token.covers(path: path), !path.contains("?"), !path.contains("#") {
            check(token.covers(path: "\(path)/below"), "\(token.rawResource) covers \(path), and not below it")
        }
    } catch {
        check(error.status == 401, "\(error.status)")
        checkSentence(error.detail)
    }
}

private func sign(resource: String, _ path: String) {
    let header = SharedAccessToken.sign(resource: resource, keyName: path, key: resource, expiresAt: 4_000_000_000)
    guard !resource.isEmpty, !path.isEmpty, header.utf8.count <= SharedAccessToken.maximumHeaderLength,
        let token = try? SharedAccessToken(parsing: header)
    else { return check(resource.isEmpty || path.isEmpty || header.utf8.count > 8_192, header) }
    check(token.keyName == path, "the rule \(path) is read as \(token.keyName)")
    check(token.isSigned(with: resource), "a token is not signed with its key")
    check(!token.isSigned(with: resource + "x"), "a token is signed with another key")
}

private func readConnectionString(_ text: String) {
    do throws(ConnectionStringError) {
        let read = try ConnectionString(parsing: text)
        let again = try? ConnectionString(parsing: read.description)
        // A blank at the end of the last part is not read.
        check(again == read || read.key.last?.isWhitespace == true, read.description)
        check(again?.endpoint ?? read.endpoint == read.endpoint, read.endpoint)
        let other = try? ConnectionString(endpoint: read.endpoint, keyName: read.keyName, key: "another")
        if let url = try? read.baseURL() {
            check(url.hasPrefix("http") && !url.hasSuffix("/"), url)
            // It stands in messages and logs.
            check((try? other?.baseURL()) == url, "the key shows in \(url)")
        }
    } catch {
        checkSentence(error.description)
    }
}
