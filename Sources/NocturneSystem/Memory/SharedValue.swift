/// A large value that many others hold: copies share one instance until one of them is changed.
@propertyWrapper
public struct SharedValue<Value: Sendable>: Sendable {
    private final class Instance: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var instance: Instance

    public init(wrappedValue: Value) { instance = Instance(wrappedValue) }

    public var wrappedValue: Value {
        _read { yield instance.value }
        set { instance = Instance(newValue) }
    }
}

extension SharedValue: Equatable where Value: Equatable {
    public static func == (a: Self, b: Self) -> Bool {
        a.instance === b.instance || a.instance.value == b.instance.value
    }
}

extension SharedValue: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(instance.value) }
}
