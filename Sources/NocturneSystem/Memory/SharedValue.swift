/// A large value that many others hold: copies share one instance until one of them is changed.
///
/// Inlinable, so that reading one field does not copy all others: with calls, triage of DICOM series took a third longer.
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

    /// Makes the first instance, which copies of the wrapper share.
    @inlinable
    public init(wrappedValue: Value) { instance = Instance(wrappedValue) }

    /// Reading lends the value without a copy; setting makes a new instance, and leaves other copies as they are.
    @inlinable public var wrappedValue: Value {
        _read { yield instance.value }
        set { instance = Instance(newValue) }
    }

    /// To share the same instance with another holder.
    @inlinable public var projectedValue: SharedValue { self }
}

extension SharedValue: Equatable where Value: Equatable {
    /// Copies that share one instance are equal without a look at the value.
    public static func == (a: Self, b: Self) -> Bool {
        a.instance === b.instance || a.instance.value == b.instance.value
    }
}

extension SharedValue: Hashable where Value: Hashable {
    /// By the value, so that equal values in different instances have one hash.
    public func hash(into hasher: inout Hasher) { hasher.combine(instance.value) }
}
