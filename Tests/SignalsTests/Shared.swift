import Synchronization

/// A value that several tasks change.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }

    @discardableResult
    func change<Output: Sendable>(_ body: (inout Value) -> Output) -> Output {
        state.withLock { value in body(&value) }
    }
}

extension Shared<Int> {
    /// Adds one, and returns the sum.
    @discardableResult
    func next() -> Int {
        change { value in
            value += 1
            return value
        }
    }
}
