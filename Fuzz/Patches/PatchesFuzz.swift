import FuzzCheck

@testable import HubProtocol

/// Reads a partial update and applies it: the whole of it or none, and the result is an installation like any other.
///
/// The same bytes are read as an installation, too.
@_cdecl("LLVMFuzzerTestOneInput")
public func readPatch(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do throws(ProtocolError) {
        let patch = try InstallationPatch(json: bytes)
        for installation in installations {
            let changed: Installation
            do throws(ProtocolError) {
                changed = try patch.applied(to: installation)
            } catch {
                refused(error)
                continue
            }
            check(changed.id == installation.id && changed.platform == installation.platform, "another installation")
            readAgain(changed)
        }
    } catch {
        refused(error)
    }
    do throws(ProtocolError) {
        readAgain(try Installation(json: bytes))
    } catch {
        refused(error)
    }
    return 0
}

private let installations = [
    #"{"installationId":"a","platform":"apns","pushChannel":"0123456789ABCDEF"}"#,
    #"{"installationId":"b","platform":"fcmv1","pushChannel":"c","userId":"u","tags":["World","a.b"],"#
        + #""pushVariables":{"v":"1"},"templates":{"t":{"body":"{\"x\":\"$(y)\"}","tags":["x"]}}}"#,
    #"{"installationId":"c","platform":"wns","pushChannel":"https://db3.notify.windows.com/?token=a","#
        + #""secondaryTiles":{"s":{"pushChannel":"https://db3.notify.windows.com/?token=b","tags":["t"],"#
        + #""templates":{"u":{"body":"<toast/>","headers":{"X-WNS-Type":"wns/toast"}}}}}}"#,
].map { text in
    do throws(ProtocolError) {
        return try Installation(json: Array(text.replacing("a.b", with: "a.b").utf8))
    } catch {
        fatalError(error.detail)
    }
}

private func readAgain(_ installation: Installation) {
    let written = installation.encodedJSON(as: .request)
    do throws(ProtocolError) {
        let again = try Installation(json: Array(written.utf8), id: installation.id)
        check(again.encodedJSON(as: .request) == written, "\(again) is not \(installation)")
        check(again.tags == installation.tags && again.templates.count == installation.templates.count, written)
    } catch {
        // What a text holds may grow when it is escaped.
        check(error.status == 413, "\(error.detail) in \(written)")
    }
}

private func refused(_ error: ProtocolError) {
    check(error.status == 400 || error.status == 413, "\(error.status)")
    checkSentence(error.detail)
}
