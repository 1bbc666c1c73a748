import FuzzCheck

@testable import HubProtocol

/// Reads what a client may say of a hub and of a job, and cuts a file of registrations; what is written of it reads the
/// same.
@_cdecl("LLVMFuzzerTestOneInput")
public func readManagement(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    readHub(bytes)
    readJob(bytes)
    cut(bytes)
    return 0
}

private func readHub(_ bytes: [UInt8]) {
    do throws(ProtocolError) {
        let hub = try NotificationHubChange(xml: bytes).applied(to: nil, at: 1_000)
        check(
            !hub.xml.utf8.contains(UInt8(ascii: "\n")) || hub.userMetadata != nil || !hub.credentials.isEmpty,
            hub.xml
        )
        let again: NotificationHubDescription
        do throws(ProtocolError) {
            again = try NotificationHubChange(xml: Array(hub.xml.utf8)).applied(to: hub, at: 2_000)
        } catch {
            return check(false, "\(error.detail) in \(hub.xml)")
        }
        check(again.rules == hub.rules && again.isDisabled == hub.isDisabled, hub.xml)
        check(again.registrationTimeToLive == hub.registrationTimeToLive, hub.xml)
        check(again.credentials.map(\.kind) == hub.credentials.map(\.kind), hub.xml)
    } catch {
        refused(error)
    }
}

private func readJob(_ bytes: [UInt8]) {
    do throws(ProtocolError) {
        let request = try NotificationHubJob.Request(xml: bytes)
        let job = NotificationHubJob(id: "1", request: request, createdAt: 0, updatedAt: 0)
        do throws(ProtocolError) {
            let again = try NotificationHubJob.Request(xml: Array(job.xml.utf8))
            check(again.kind == request.kind && again.inputProperties.count == request.inputProperties.count, job.xml)
        } catch {
            check(false, "\(error.detail) in \(job.xml)")
        }
    } catch {
        refused(error)
    }
}

/// However a file comes in pieces, its records are the same, and none of it is left over.
private func cut(_ bytes: [UInt8]) {
    let whole = records(bytes, pieces: bytes.count + 1)
    check(records(bytes, pieces: 3) == whole, "other records in pieces")
    check(whole.isEmpty || whole.last?.end.bytes ?? 0 <= Int64(bytes.count), "behind the end")
    for record in whole {
        _ = RegistrationLine.statedID(in: record.bytes)
        let line = RegistrationLine.failed(record.bytes, number: record.number, reason: "a--b\n-->")
        check(!line.contains { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }, "a line end in a line")
    }
}

private func records(_ bytes: [UInt8], pieces: Int) -> [RegistrationRecords.Record] {
    var records = RegistrationRecords()
    var found: [RegistrationRecords.Record] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        records.append(Array(rest.prefix(pieces)))
        rest = rest.dropFirst(pieces)
        while let record = records.nextRecord() { found.append(record) }
    }
    records.finish()
    while let record = records.nextRecord() { found.append(record) }
    return found
}

private func refused(_ error: ProtocolError) {
    check(error.status == 400, "\(error.status)")
    checkSentence(error.detail)
}
