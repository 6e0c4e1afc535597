/// A large value that many others hold: copies share one instance until one of them is changed.
@propertyWrapper
public struct SharedValue<Value: Sendable & Hashable>: Sendable, Hashable {
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

    public static func == (a: Self, b: Self) -> Bool {
        a.instance === b.instance || a.instance.value == b.instance.value
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(instance.value) }
}
