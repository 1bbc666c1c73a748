import Synchronization

/// A growing list whose length tests can wait for instead of sleeping.
package final class Counter<Element: Sendable>: Sendable {
    private struct Waiter {
        let id: Int
        let count: Int
        let continuation: CheckedContinuation<[Element], Never>
    }

    private struct State {
        var elements: [Element] = []
        var waiters: [Waiter] = []
        var nextID = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var elements: [Element] { state.withLock { $0.elements } }

    package func append(_ element: Element) {
        let ready = state.withLock { state in
            state.elements.append(element)
            let count = state.elements.count
            let ready = state.waiters.filter { $0.count <= count }
            state.waiters.removeAll { $0.count <= count }
            return ready.map { ($0.continuation, state.elements) }
        }
        for (continuation, elements) in ready { continuation.resume(returning: elements) }
    }

    /// Returns when there are so many elements, or with fewer of them after ``WaitLimit/duration``.
    package func elements(atLeast count: Int, file: String = #fileID, line: Int = #line) async -> [Element] {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let limit = Task {
            try await Task.sleep(for: WaitLimit.duration)
            giveUp(id)
        }
        defer { limit.cancel() }
        let elements = await withCheckedContinuation { continuation in
            let ready = state.withLock { state -> [Element]? in
                if state.elements.count >= count { return state.elements }
                state.waiters.append(Waiter(id: id, count: count, continuation: continuation))
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
        if elements.count < count { WaitLimit.ranOut("element \(elements.count + 1) of \(count)", file, line) }
        return elements
    }

    private func giveUp(_ id: Int) {
        let late = state.withLock { state -> (CheckedContinuation<[Element], Never>, [Element])? in
            guard let place = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
            return (state.waiters.remove(at: place).continuation, state.elements)
        }
        if let (continuation, elements) = late { continuation.resume(returning: elements) }
    }
}
