/// A large value that many others hold: copies share one instance until one of them is changed.
///
/// Inlinable, so that who reads one field of the value does not copy all others with it: triage of DICOM series took a third
/// longer with calls.
@frozen
@propertyWrapper
public struct SharedValue<Value: Sendable>: Sendable {
    @usableFromInline
    final class Instance: Sendable {
        @usableFromInline let value: Value

        @inlinable
        init(_ value: Value) { self.value = value }
    }

    @usableFromInline var instance: Instance

    @inlinable
    public init(wrappedValue: Value) { instance = Instance(wrappedValue) }

    @inlinable public var wrappedValue: Value {
        _read { yield instance.value }
        set { instance = Instance(newValue) }
    }

    /// To share the same instance with another holder.
    @inlinable public var projectedValue: SharedValue { self }
}

extension SharedValue: Equatable where Value: Equatable {
    public static func == (a: Self, b: Self) -> Bool {
        a.instance === b.instance || a.instance.value == b.instance.value
    }
}

extension SharedValue: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(instance.value) }
}
