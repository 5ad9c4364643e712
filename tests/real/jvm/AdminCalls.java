import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import javax.ws.rs.HttpMethod;
import javax.ws.rs.Path;

/** Prints every call of a broker's web service, one a line: method, path and the name of what serves it. */
public class AdminCalls {
    private static final String BROKER = "org/apache/pulsar/broker/";

    /** Where PulsarService mounts the packages of its resources; those of v1 are deprecated and left out. */
    private static final String[][] MOUNTS = {
        {BROKER + "admin/v2/", "admin/v2"},
        {BROKER + "admin/v3/", "admin/v3"},
        {BROKER + "lookup/v2/", "lookup"},
        {BROKER + "rest/", "topics"},
    };

    public static void main(String[] arguments) throws Exception {
        TreeSet<String> calls = new TreeSet<>();
        try (JarFile jar = new JarFile(arguments[0])) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                for (String[] mount : MOUNTS) {
                    String name = entry.getName();
                    if (name.startsWith(mount[0]) && name.endsWith(".class") && !name.contains("$")) {
                        add(calls, mount[1], Class.forName(name.replace('/', '.').replace(".class", "")));
                    }
                }
            }
        }
        calls.forEach(System.out::println);
    }

    private static void add(TreeSet<String> calls, String mount, Class<?> resource) {
        Path base = resource.getAnnotation(Path.class);
        if (base == null) {
            return;
        }
        for (Method method : resource.getMethods()) {
            for (Annotation annotation : method.getAnnotations()) {
                HttpMethod verb = annotation.annotationType().getAnnotation(HttpMethod.class);
                if (verb != null && !method.isBridge()) {
                    Path path = method.getAnnotation(Path.class);
                    String whole = mount + "/" + base.value() + "/" + (path == null ? "" : path.value());
                    String tidy = whole.replaceAll(": *[^}]*", "").replaceAll("/+", "/").replaceAll("/$", "");
                    calls.add(verb.value() + "\t" + tidy + "\t" + method.getName());
                }
            }
        }
    }
}
