// SPDX-License-Identifier: Apache-2.0
// Stores to its own memory, a byte each, at the end of many chains of calls:
// of recursion, lambdas, reflection, classes that are being set up, code that
// is thrown away while it is on the stack, loops that are compiled in between,
// other threads, handlers of exceptions.  Says where the memory is, waits for a
// line, and says of each byte which chain stored it: "I CLASS.METHOD:LINE|...".
// With an argument it only spins for half a second, in a chain of calls.

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashMap;
import java.util.stream.IntStream;

public class Chains {
	static final sun.misc.Unsafe UNSAFE = unsafe();
	static final int PAGE = 4096;
	static final long MEMORY = memory();
	static final StringBuilder TRUTH = new StringBuilder();
	static int count;
	static Shape shape = new Round();

	static sun.misc.Unsafe unsafe() {
		try {
			Field field = sun.misc.Unsafe.class.getDeclaredField(
				"theUnsafe");
			field.setAccessible(true);
			return (sun.misc.Unsafe) field.get(null);
		} catch (ReflectiveOperationException e) {
			throw new AssertionError(e);
		}
	}

	static long memory() {
		long addr = UNSAFE.allocateMemory(3 * PAGE);

		return (addr + PAGE - 1) / PAGE * PAGE;
	}

	static void say(int i, StackTraceElement[] trace) {
		TRUTH.append(i).append(' ');
		for (StackTraceElement e : trace)
			TRUTH.append(e.getClassName()).append('.')
				.append(e.getMethodName()).append(':')
				.append(e.getLineNumber()).append('|');
		TRUTH.append('\n');
	}

	static void touch() {
		store(count++);
	}

	static void store(int i) {
		say(i, new Throwable().getStackTrace()); UNSAFE.putByte(MEMORY + i, (byte) i);
	}

	abstract static class Shape {
		abstract int draw(int depth);
	}

	static class Round extends Shape {
		int draw(int depth) {
			return recurse(depth - 1) + 1;
		}
	}

	/* Loaded late: then compiled code that knew of no other is void. */
	static class Square extends Shape {
		int draw(int depth) {
			touch();
			return 1;
		}
	}

	static int recurse(int depth) {
		if (depth == 0) {
			touch();
			shape = new Square();
			touch();
			return 1;
		}
		return shape.draw(depth) + depth;
	}

	static int plain(int depth) {
		if (depth > 0)
			return plain(depth - 1) + 1;
		touch();
		return 0;
	}

	static class Late {
		static int value = 1;

		static {
			touch();
		}
	}

	static synchronized void outer(Runnable inner) {
		middle(inner);
		touch();
	}

	static void middle(Runnable inner) {
		inner.run();
	}

	static void thrown(int depth) {
		try {
			if (depth > 0)
				thrown(depth - 1);
			else
				throw new IllegalStateException();
		} finally {
			touch();
		}
	}

	static long many(long a, long b, long c, long d, long e, long f, long g,
			 long h, double x, double y, Object o) {
		long sum = a + b + c + d + e + f + g + h + (long) (x + y);

		touch();
		return sum + o.hashCode();
	}

	static int loop(int rounds) {
		int sum = 0;

		for (int i = 0; i < rounds; i++) {
			sum += i ^ sum;
			if (i == rounds - 1)
				touch();
		}
		return sum;
	}

	public static void reflected(String text) {
		touch();
	}

	static void all() throws Exception {
		HashMap<String, Integer> map = new HashMap<>();
		Integer[] numbers = { 3, 1, 2 };
		Thread thread = new Thread(() -> plain(2));

		outer(() -> plain(3));
		plain(40);
		recurse(6);
		Chains.class.getMethod("reflected", String.class)
			.invoke(null, "text");
		count += Late.value - 1;
		Arrays.sort(numbers, (a, b) -> {
			plain(1);
			return a - b;
		});
		map.computeIfAbsent("key", key -> {
			outer(Chains::touch);
			return 1;
		});
		IntStream.range(0, 3).mapToObj(i -> "" + i).forEach(s -> plain(2));
		try {
			thrown(3);
		} catch (IllegalStateException e) {
			touch();
		}
		many(1, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5, "o");
		loop(200000);
		thread.start();
		thread.join();
	}

	static int spin(long end) {
		int n = 0;

		while (System.nanoTime() < end)
			n = n * 3 + 1;
		return n;
	}

	static int hold(int depth, long end) {
		return depth > 0 ? hold(depth - 1, end) : spin(end);
	}

	public static void main(String[] args) throws Exception {
		if (args.length > 0) {
			hold(3, System.nanoTime() + 500000000L);
			return;
		}
		System.out.println(MEMORY);
		System.in.read();
		all();
		System.out.print(TRUTH);
	}
}
