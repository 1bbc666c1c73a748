import FuzzCheck

@testable import HubProtocol

/// Reads the Atom entry of a registration, and what is written of it once more.
@_cdecl("LLVMFuzzerTestOneInput")
public func readRegistration(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let registration: Registration
    do throws(ProtocolError) {
        registration = try Registration(entry: bytes, id: .random())
    } catch {
        check(error.status == 400 || error.status == 413, "\(error.status)")
        checkSentence(error.detail)
        return 0
    }
    let written = registration.encodedDescription
    check(!written.contains { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }, "a control character")
    do throws(ProtocolError) {
        let again = try Registration(description: written)
        check(again == readable(registration), "\(again) is not \(registration)")
    } catch {
        // A text in a CDATA section grows when it is escaped, and may be too large then.
        check(error.status == 413, "\(error.detail) in \(String(decoding: written, as: UTF8.self))")
    }
    return 0
}

/// The registration as whoever reads it has it: with uniform line ends, and without what XML cannot hold.
private func readable(_ registration: Registration) -> Registration {
    var registration = registration
    if let body = registration.template?.body {
        registration.template?.body = body.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    }
    registration.pushVariables = registration.pushVariables.mapValues(XMLText.permitted)
    return registration
}
