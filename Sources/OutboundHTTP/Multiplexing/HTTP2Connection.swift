import CCurl
import CNghttp2
import Glibc

/// A connection that libcurl has opened, and the requests under way on it over HTTP/2.
///
/// libcurl's own HTTP/2 keeps a state machine for each request, which takes several times the processor time. It still
/// resolves the name, tunnels through the proxy and verifies the host.
///
/// Confined to the loop's thread. Source: RFC 9113.
final class HTTP2Connection {
    /// A request under way.
    private struct Stream {
        let request: BatchRequest
        let beganAt: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant?
        var id: Int32 = 0
        var head = ReplyHead(status: 0, headers: OutboundHeaders())
        var headerBytes = 0
        var hasHead = false
        var isComplete = false
        var body: [UInt8] = []
        var sentBody = 0
        /// True if the request has its answer, and only its place is still taken.
        var isAnswered = false

        var response: OutboundResponse {
            OutboundResponse(
                status: head.status,
                headers: head.headers,
                body: body,
                url: request.work.plan.address.text + request.target.path
            )
        }
    }

    /// Keeps the handle with its connection, and the request's limits that hold for the connection.
    private let opening: ConnectionOpening
    private let easy: UnsafeMutableRawPointer
    let socket: curl_socket_t
    private var session: OpaquePointer?
    private var streams: [Stream?] = []
    private var freePlaces: [Int] = []
    /// Written frames that the socket has not taken.
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: outputBytes, alignment: 1)
    private var written = 0
    private var sent = 0
    /// Memory for the fields of one request.
    private var text = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1_024)
    private var fields = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(capacity: 32)

    private(set) var openCount = 0
    /// True once the peer's settings have arrived, which every host sends that speaks HTTP/2.
    private(set) var isReady = false
    /// True if the connection takes no further request.
    private(set) var isRetired = false
    /// True if nothing has arrived since the beginning of a request that has timed out: the connection is dead, whatever
    /// the system says.
    private(set) var isDead = false
    /// No request times out before, and no silence is too long.
    private(set) var nextDeadline: ContinuousClock.Instant?
    /// Time since which requests wait and nothing has arrived.
    private var silentSince: ContinuousClock.Instant?
    private var pingedAt: ContinuousClock.Instant?
    /// Time without a byte for requests that wait after which the host is asked (RFC 9113 §6.7), and time for its answer.
    private let silence: Duration
    private(set) var wantsToWrite = false
    /// True if bytes may have arrived that were not read, and for which the socket does not wake the thread.
    private(set) var hasMore = false
    private var lastArrival: ContinuousClock.Instant

    private var answers: [BatchAnswer] = []
    private var refused: [BatchRequest] = []

    /// Returns `nil` if there is no connection or no memory.
    init?(_ opening: ConnectionOpening, silence: Duration, at now: ContinuousClock.Instant) {
        guard let socket = opening.session.socket else { return nil }
        self.silence = silence
        self.opening = opening
        self.socket = socket
        easy = opening.session.easy
        lastArrival = now
        guard let callbacks = HTTP2Callbacks.make() else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard nghttp2_session_client_new(&session, callbacks, context) == 0 else { return nil }
        var settings = [nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)]
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
        nghttp2_session_set_local_window_size(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Self.windowBytes)
    }

    deinit {
        nghttp2_session_del(session)
        output.deallocate()
        text.deallocate()
        fields.deallocate()
    }

    private static let outputBytes = 65_536
    /// Room that the next frame may need: 16 KiB, the largest frame that nghttp2 writes, and its header.
    private static let frameBytes = 16_384 + 9
    /// Bytes of all answers together that the host may send before they are read.
    private static let windowBytes: Int32 = 1_048_576
    /// Number of reads after which other connections get their turn.
    private static let readsInTurn = 64
    /// Bytes of the header of one reply.
    private static let maximumHeaderBytes = 65_536
}

// MARK: - Requests

extension HTTP2Connection {
    /// Number of further requests that the connection can take; `limit` is our own maximum on one connection.
    func room(limit: Int) -> Int {
        guard isReady, !isRetired, let session else { return 0 }
        guard nghttp2_session_check_request_allowed(session) != 0 else {
            // The host has sent GOAWAY.
            isRetired = true
            return 0
        }
        let allowed = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        return max(0, min(limit, Int(allowed)) - openCount)
    }

    /// Takes no further requests; those under way can end.
    func retire() { isRetired = true }

    /// Begins a request, whose frames the next ``flush()`` writes.
    ///
    /// - Returns: False if the connection cannot take it; the connection is retired then.
    func begin(_ request: BatchRequest, at now: ContinuousClock.Instant) -> Bool {
        let place = freePlaces.popLast() ?? streams.count
        if place == streams.count { streams.append(nil) }
        let plan = request.work.plan
        streams[place] = Stream(
            request: request,
            beganAt: now,
            deadline: plan.streamTimeout.map { now + $0 } ?? plan.deadline
        )
        let count = writeFields(of: request)
        let mark = HTTP2Callbacks.mark(of: place)
        var body = HTTP2Callbacks.body(mark)
        let id =
            request.work.plan.body?.isEmpty == false
            ? nghttp2_submit_request(session, nil, fields.baseAddress, count, &body, mark)
            : nghttp2_submit_request(session, nil, fields.baseAddress, count, nil, mark)
        guard id > 0 else {
            streams[place] = nil
            freePlaces.append(place)
            isRetired = true
            return false
        }
        streams[place]?.id = id
        openCount += 1
        if silentSince == nil { silentSince = now }
        noteDeadlines([streams[place]?.deadline, silentSince.map { $0 + silence }])
        return true
    }

    /// Writes the fields of a request into `fields`.
    ///
    /// - Returns: Their number.
    private func writeFields(of request: BatchRequest) -> Int {
        let (work, target) = (request.work, request.target)
        let needed = target.headers.reduce(16 + work.path.utf8.count + target.path.utf8.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
        if text.count < needed {
            text.deallocate()
            text = .allocate(capacity: needed)
        }
        if fields.count < work.fields.count + 1 + target.headers.count {
            fields.deallocate()
            fields = .allocate(capacity: work.fields.count + 1 + target.headers.count)
        }
        var count = 0
        func append(_ field: nghttp2_nv) {
            fields.initializeElement(at: count, to: field)
            count += 1
        }
        var writer = FieldWriter(text)
        for field in work.fields.prefix(BatchWork.pseudoFields) { append(field) }
        append(writer.write(":path", work.path.utf8, target.path.utf8))
        for field in work.fields.dropFirst(BatchWork.pseudoFields) { append(field) }
        // What differs from request to request would only displace the rest from the host's table.
        for (name, value) in target.headers where !BatchWork.isOfConnection(name) {
            append(writer.write(name, value.utf8, flags: NGHTTP2_NV_FLAG_NO_INDEX))
        }
        return count
    }

    /// Ends the requests that have timed out.
    ///
    /// - Returns: The time of the next timeout; `nil` if there is none.
    func expire(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        nextDeadline = nil
        for place in streams.indices {
            guard let stream = streams[place], !stream.isAnswered, let deadline = stream.deadline else { continue }
            if deadline > now {
                noteDeadlines([deadline])
                continue
            }
            let plan = stream.request.work.plan
            fail(
                place,
                .timedOut(
                    host: plan.address.displayHost,
                    stage: stream.hasHead ? .reading : .waiting,
                    after: plan.totalTimeout ?? .zero
                )
            )
            if lastArrival <= stream.beganAt { isDead = true }
        }
        endSilence(at: now)
        return nextDeadline
    }

    /// Asks a host that has been silent for long while requests wait; without an answer the connection is dead.
    private func endSilence(at now: ContinuousClock.Instant) {
        guard let silentSince, openCount > 0 else { return }
        if let pingedAt {
            if now >= pingedAt + silence { isDead = true } else { noteDeadlines([pingedAt + silence]) }
        } else if now >= silentSince + silence {
            nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
            pingedAt = now
            noteDeadlines([now + silence])
        } else {
            noteDeadlines([silentSince + silence])
        }
    }

    private func noteDeadlines(_ deadlines: [ContinuousClock.Instant?]) {
        nextDeadline = (deadlines + [nextDeadline]).compactMap(\.self).min()
    }

    /// Answers a request before its reply has ended, and tells the host that nobody waits for the rest.
    ///
    /// `error` is its failure; `nil` if the beginning of the reply is enough.
    private func fail(_ place: Int, _ error: OutboundError?) {
        guard let stream = streams[place], !stream.isAnswered else { return }
        streams[place]?.isAnswered = true
        answers.append(stream.request.answer(error.map { .failure($0) } ?? .success(stream.response)))
        nghttp2_submit_rst_stream(
            session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            stream.id,
            UInt32(NGHTTP2_CANCEL.rawValue)
        )
    }

    /// True if there are answers since the last call of ``takeAnswers()``.
    var hasAnswers: Bool { !answers.isEmpty }

    /// Returns the answers since the last call.
    func takeAnswers() -> [BatchAnswer] {
        defer { answers.removeAll(keepingCapacity: true) }
        return answers
    }

    /// Returns the requests that the host has refused without processing them since the last call.
    func takeRefused() -> [BatchRequest] {
        defer { refused = [] }
        return refused
    }
}

// MARK: - Bytes

extension HTTP2Connection {
    /// Writes frames, as many as the socket takes.
    ///
    /// - Returns: False if the connection has ended.
    func flush() -> Bool {
        while true {
            while written + Self.frameBytes <= output.count {
                var frame: UnsafePointer<UInt8>?
                let count = nghttp2_session_mem_send(session, &frame)
                guard count >= 0 else { return false }
                guard count > 0, let frame else { break }
                let room = UnsafeMutableRawBufferPointer(rebasing: output[written...])
                room.copyMemory(from: UnsafeRawBufferPointer(start: frame, count: count))
                written += count
            }
            guard sent < written else {
                wantsToWrite = false
                return nghttp2_session_want_read(session) != 0 || nghttp2_session_want_write(session) != 0
            }
            var count = 0
            let code = curl_easy_send(easy, output.baseAddress.map { $0 + sent }, written - sent, &count)
            if code == CURLE_AGAIN {
                wantsToWrite = true
                return true
            }
            guard code == CURLE_OK else { return false }
            sent += count
            if sent == written { (sent, written) = (0, 0) }
        }
    }

    /// Reads what has arrived, with `buffer` as memory for it.
    ///
    /// - Returns: False if the connection has ended.
    func receive(_ buffer: UnsafeMutableRawBufferPointer, at now: ContinuousClock.Instant) -> Bool {
        hasMore = false
        for _ in 0..<Self.readsInTurn {
            var count = 0
            let code = curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count)
            if code == CURLE_AGAIN { return true }
            guard code == CURLE_OK, count > 0 else { return false }
            lastArrival = now
            (silentSince, pingedAt) = (now, nil)
            let bytes = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard nghttp2_session_mem_recv(session, bytes, count) >= 0 else { return false }
        }
        hasMore = true
        return true
    }

    /// Ends the connection, and with it the requests under way.
    ///
    /// - Parameter error: Their failure; `nil` because of the connection's end.
    func end(_ error: OutboundError? = nil) {
        isRetired = true
        for place in streams.indices {
            guard let stream = streams[place] else { continue }
            if !stream.isAnswered { answers.append(stream.request.answer(.failure(error ?? Self.broken(stream)))) }
            streams[place] = nil
        }
        openCount = 0
    }

    /// Tells the host that no more will come, as far as the socket takes it.
    func sayFarewell() {
        nghttp2_session_terminate_session(session, UInt32(NGHTTP2_NO_ERROR.rawValue))
        _ = flush()
    }

    private static func broken(_ stream: Stream) -> OutboundError {
        let host = stream.request.work.plan.address.displayHost
        guard stream.hasHead else { return .ended(host: host, reason: "the connection ended without an answer") }
        let announced = stream.head.headers["content-length"].flatMap { Int($0) }
        return .cut(host: host, received: stream.body.count, expected: announced)
    }
}

// MARK: - nghttp2's side

extension HTTP2Connection {
    func place(of id: Int32) -> Int? {
        let mark = nghttp2_session_get_stream_user_data(session, id)
        return mark.map { Int(bitPattern: $0) - 1 }
    }

    func copyBody(_ place: Int, to buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
        guard let stream = streams[place], let body = stream.request.work.plan.body else { return (0, true) }
        let count = min(buffer.count, body.count - stream.sentBody)
        body.withUnsafeBytes { bytes in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[stream.sentBody..<stream.sentBody + count]))
        }
        streams[place]?.sentBody += count
        return (count, stream.sentBody + count == body.count)
    }

    /// Begins a head; one that follows an interim reply (1xx) replaces it.
    func beginHead(_ place: Int) {
        guard streams[place]?.hasHead == false else { return }
        streams[place]?.head = ReplyHead(status: 0, headers: OutboundHeaders())
    }

    func receive(_ place: Int, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        // Fields after the head are trailers.
        guard streams[place]?.hasHead == false else { return }
        streams[place]?.headerBytes += name.count + value.count
        if name.first == UInt8(ascii: ":") {
            // nghttp2 has checked that it is a number of three digits.
            streams[place]?.head.status = value.reduce(0) { $0 * 10 + Int($1) - 0x30 }
            return
        }
        guard let bytes = streams[place]?.headerBytes, bytes <= Self.maximumHeaderBytes else {
            let reason = "its header is longer than \(Self.maximumHeaderBytes) bytes"
            return fail(place, .malformedReply(host: opening.host, reason: reason))
        }
        let field = OutboundHeaders.Field(name: String(decoding: name, as: UTF8.self), bytes: Array(value))
        streams[place]?.head.headers.append(field)
    }

    func receive(_ place: Int, body bytes: UnsafeBufferPointer<UInt8>) {
        guard let stream = streams[place], !stream.isAnswered else { return }
        if case .whole(let limit, let keepsStart) = stream.request.work.plan.delivery,
            stream.body.count + bytes.count > limit
        {
            return fail(place, keepsStart ? nil : .tooLarge(host: opening.host, limit: limit))
        }
        streams[place]?.body.append(contentsOf: bytes)
    }

    func endHead(_ place: Int) {
        if let status = streams[place]?.head.status, status >= 200 { streams[place]?.hasHead = true }
    }

    func complete(_ place: Int) { streams[place]?.isComplete = true }

    func noteSettings() { isReady = true }

    func close(_ place: Int, _ error: UInt32) {
        guard let stream = streams[place] else { return }
        streams[place] = nil
        freePlaces.append(place)
        openCount -= 1
        if stream.isAnswered { return }
        if stream.isComplete, stream.hasHead {
            answers.append(stream.request.answer(.success(stream.response)))
        } else if error == NGHTTP2_REFUSED_STREAM.rawValue {
            refused.append(stream.request)
        } else {
            answers.append(stream.request.answer(.failure(Self.broken(stream))))
        }
    }
}
