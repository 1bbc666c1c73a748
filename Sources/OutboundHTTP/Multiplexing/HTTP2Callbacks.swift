import CNghttp2

/// nghttp2's callbacks; their context is an ``HTTP2Connection``.
enum HTTP2Callbacks {
    /// Returns the callbacks, which the caller deletes; `nil` without memory.
    static func make() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beginHeaders)
        nghttp2_session_callbacks_set_on_header_callback(callbacks, receiveField)
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receiveFrame)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receiveData)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closeStream)
        return callbacks
    }

    /// Returns a stream's place as nghttp2 keeps it; zero would be no pointer.
    static func mark(of place: Int) -> UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: place + 1) }

    /// Returns the source of a request's body; `mark` is that of its place.
    static func body(_ mark: UnsafeMutableRawPointer?) -> nghttp2_data_provider {
        nghttp2_data_provider(source: nghttp2_data_source(ptr: mark), read_callback: readBody)
    }
}

private func connection(_ context: UnsafeMutableRawPointer?) -> HTTP2Connection? {
    context.map { Unmanaged<HTTP2Connection>.fromOpaque($0).takeUnretainedValue() }
}

private func readBody(
    _: OpaquePointer?,
    _: Int32,
    _ bytes: UnsafeMutablePointer<UInt8>?,
    _ count: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let connection = connection(context), let mark = source?.pointee.ptr else { return 0 }
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: count)
    let (copied, isLast) = connection.copyBody(Int(bitPattern: mark) - 1, to: buffer)
    if isLast { flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return copied
}

private func beginHeaders(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let connection = connection(context), let frame else { return 0 }
    if let place = connection.place(of: frame.pointee.hd.stream_id) { connection.beginHead(place) }
    return 0
}

private func receiveField(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ name: UnsafePointer<UInt8>?,
    _ nameCount: Int,
    _ value: UnsafePointer<UInt8>?,
    _ valueCount: Int,
    _: UInt8,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let connection = connection(context), let frame else { return 0 }
    guard let place = connection.place(of: frame.pointee.hd.stream_id) else { return 0 }
    connection.receive(
        place,
        UnsafeBufferPointer(start: name, count: nameCount),
        UnsafeBufferPointer(start: value, count: valueCount)
    )
    return 0
}

private func receiveFrame(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let connection = connection(context), let header = frame?.pointee.hd else { return 0 }
    if header.type == NGHTTP2_SETTINGS.rawValue { connection.noteSettings() }
    guard let place = connection.place(of: header.stream_id) else { return 0 }
    if header.type == NGHTTP2_HEADERS.rawValue { connection.endHead(place) }
    if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
        header.type == NGHTTP2_HEADERS.rawValue || header.type == NGHTTP2_DATA.rawValue
    {
        connection.complete(place)
    }
    return 0
}

private func receiveData(
    _: OpaquePointer?,
    _: UInt8,
    _ id: Int32,
    _ bytes: UnsafePointer<UInt8>?,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let connection = connection(context), let place = connection.place(of: id) else { return 0 }
    connection.receive(place, body: UnsafeBufferPointer(start: bytes, count: count))
    return 0
}

private func closeStream(
    _: OpaquePointer?,
    _ id: Int32,
    _ error: UInt32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let connection = connection(context), let place = connection.place(of: id) else { return 0 }
    connection.close(place, error)
    return 0
}
